// cuGetProcAddress and cuGetExportTable.
#include <cstring>

#include "abi/cuda_entries.h"
#include "cuda/context/api_prologue.h"

namespace divvy::simgpu {
namespace {

constexpr cuuint64_t kKnownFlags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

struct ProcLookup {
  void* address = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// The newest version of a name that is not newer than `version` or the driver. Twins for the
// per-thread stream are considered only if requested, and preferred then.
ProcLookup find(const char* base, int version, bool per_thread) {
  ProcLookup found;
  const abi::Family* family = abi::findCuFamily(base);
  if (family == nullptr || Faults::get().isMissing(base)) return found;
  const int driver = configuredDriverVersion();
  const abi::FamilyMember<Cu>* best = nullptr;
  for (unsigned i = 0; i < family->count; ++i) {
    const auto& member = abi::kCuFamilyMembers[family->first + i];
    const bool twin = member.mode != abi::StreamMode::kPlain;
    const char* symbol = abi::kCuEntries[static_cast<unsigned>(member.id)].symbol;
    if (member.since > driver || (twin && !per_thread) || Faults::get().isMissing(symbol)) continue;
    found.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (member.since > version) continue;
    // If one version has two forms, the twin comes later in the list.
    if (best == nullptr || member.since > best->since || (twin && member.since >= best->since)) {
      best = &member;
    }
  }
  if (best == nullptr) return found;
  found.address = abi::kSimCuExports[static_cast<unsigned>(best->id)];
  found.status = CU_GET_PROC_ADDRESS_SUCCESS;
  return found;
}

CUresult checkArguments(const char* symbol, void** out, cuuint64_t flags) {
  if (symbol == nullptr || out == nullptr || *symbol == 0) return CUDA_ERROR_INVALID_VALUE;
  return (flags & ~kKnownFlags) != 0 || flags == kKnownFlags ? CUDA_ERROR_INVALID_VALUE
                                                             : CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuGetProcAddress)(const char* symbol, void** out, int version, cuuint64_t flags) {
  return withNothing(Cu::cuGetProcAddress, [&]() -> CUresult {
    if (const CUresult fine = checkArguments(symbol, out, flags); fine != CUDA_SUCCESS) return fine;
    const ProcLookup found =
        find(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    *out = found.address;
    return found.address == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGetProcAddress_v2)
(const char* symbol, void** out, int version, cuuint64_t flags,
 CUdriverProcAddressQueryResult* status) {
  return withNothing(Cu::cuGetProcAddress_v2, [&]() -> CUresult {
    if (const CUresult fine = checkArguments(symbol, out, flags); fine != CUDA_SUCCESS) return fine;
    const ProcLookup found =
        find(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    *out = found.address;
    if (status != nullptr) *status = found.status;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuGetExportTable)(const void** table, const CUuuid* id) {
  return withNothing(Cu::cuGetExportTable, [&]() -> CUresult {
    if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // The tables are private to NVIDIA's runtime, which verifies its driver; they are not
    // simulated.
    *table = nullptr;
    return CUDA_ERROR_NOT_FOUND;
  });
}

}  // namespace divvy::simgpu
