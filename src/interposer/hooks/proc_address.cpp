// cuGetProcAddress in both versions: the driver's own answer, with our wrappers in place of wrapped
// functions.
#include "loader/symbol_lookup.h"
#include "runtime.h"
#include "threads/thread_state.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

std::uint64_t hashName(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
  return hash;
}

// The address for the application instead of `address`, which the driver returned for this name.
void* wrapped(const char* symbol, int version, cuuint64_t flags, void* address) {
  const divvy::abi::Family* family = divvy::abi::findCuFamily(symbol);
  if (family == nullptr) {
    noteFault(Fault::kUnknownName, static_cast<std::uint32_t>(Cu::cuGetProcAddress),
              static_cast<std::uint64_t>(version), hashName(symbol));
    return address;
  }
  const Cu id = identify(*family, version, flags, address);
  void* hook = divvy::abi::kCuHooks[static_cast<unsigned>(id)];
  return hook != nullptr ? hook : address;
}

// For a driver without a look-up of its own, or without a driver. In the latter case every name
// exists, so that the application gets as far as a cuInit that reports it.
CUresult lookUpInList(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  if (symbol == nullptr || pfn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pfn = nullptr;
  const divvy::abi::Family* family = divvy::abi::findCuFamily(symbol);
  if (family == nullptr) return CUDA_ERROR_NOT_FOUND;
  const Cu id = chooseByList(*family, version, flags);
  if (id == Cu::kCount) return CUDA_ERROR_NOT_FOUND;
  Driver& driver = runtime().driver;
  *pfn = driver.open() ? driver.symbol(id) : divvy::abi::kCuExports[static_cast<unsigned>(id)];
  return *pfn != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult lookUpOld(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  if (!runtime().driver.has(Cu::cuGetProcAddress)) {
    return lookUpInList(symbol, pfn, version, flags);
  }
  return real<Cu::cuGetProcAddress>()(symbol, pfn, version, flags);
}

// The reason why a look-up without a status of its own found nothing: the name is unknown, or its
// versions are newer than requested.
CUdriverProcAddressQueryResult explain(const char* symbol, CUresult result) {
  if (result == CUDA_SUCCESS) return CU_GET_PROC_ADDRESS_SUCCESS;
  const divvy::abi::Family* family = symbol == nullptr ? nullptr : divvy::abi::findCuFamily(symbol);
  if (family == nullptr) return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (unsigned i = 0; i < family->count; ++i) {
    if (runtime().driver.has(divvy::abi::kCuFamilyMembers[family->first + i].id)) {
      return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
  }
  return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

CUresult lookUp(const char* symbol, void** pfn, int version, cuuint64_t flags,
                CUdriverProcAddressQueryResult* status) {
  if (runtime().driver.has(Cu::cuGetProcAddress_v2)) {
    return real<Cu::cuGetProcAddress_v2>()(symbol, pfn, version, flags, status);
  }
  // This version reports a missing name by its status, not by its result.
  const CUresult result = lookUpOld(symbol, pfn, version, flags);
  if (status != nullptr) *status = explain(symbol, result);
  return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}

// The first version of the call, implemented by the second if the driver has only that.
CUresult lookUpTheOldWay(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  Driver& driver = runtime().driver;
  if (driver.has(Cu::cuGetProcAddress) || !driver.has(Cu::cuGetProcAddress_v2)) {
    return lookUpOld(symbol, pfn, version, flags);
  }
  CUdriverProcAddressQueryResult status;
  const CUresult result = real<Cu::cuGetProcAddress_v2>()(symbol, pfn, version, flags, &status);
  return result == CUDA_SUCCESS && *pfn == nullptr ? CUDA_ERROR_NOT_FOUND : result;
}

}  // namespace

DIVVY_HOOK(cuGetProcAddress_v2)
(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
 CUdriverProcAddressQueryResult* symbolStatus) noexcept {
  const DriverCallScope inside;
  const CUresult result = lookUp(symbol, pfn, cudaVersion, flags, symbolStatus);
  if (inside.nested() || result != CUDA_SUCCESS || pfn == nullptr || *pfn == nullptr) return result;
  *pfn = wrapped(symbol, cudaVersion, flags, *pfn);
  return result;
}

DIVVY_HOOK(cuGetProcAddress)
(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) noexcept {
  const DriverCallScope inside;
  const CUresult result = lookUpTheOldWay(symbol, pfn, cudaVersion, flags);
  if (inside.nested() || result != CUDA_SUCCESS || pfn == nullptr || *pfn == nullptr) return result;
  *pfn = wrapped(symbol, cudaVersion, flags, *pfn);
  return result;
}
