// Memory and its holders.
#include <algorithm>
#include <vector>

#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kNoInstance = 0xffffffff;  // outside MIG

std::uint64_t usedBytes(NvmlCard& card) {
  std::uint64_t of_parts = 0;
  for (const auto& part : card.parts()) of_parts += usedBytes(*part);
  if (card.partitioned()) return of_parts;
  Card* shared = card.sharedCard();
  return shared == nullptr ? 0 : shared->used();
}

// Processes with a context, in the order of their records. A process that only queries is not
// listed, nor is one of another container.
struct ComputeProcess {
  ProcessView process;
  unsigned instance = kNoInstance;
};

std::vector<ComputeProcess> computeProcesses(NvmlCard& card) {
  std::vector<ComputeProcess> all;
  for (const auto& part : card.parts())
    for (const ComputeProcess& one : computeProcesses(*part)) all.push_back(one);
  Card* shared = card.sharedCard();
  if (shared == nullptr) return all;
  for (const ProcessView& process : shared->view().processes) {
    if (process.contexts == 0 || process.pid == 0) continue;
    all.push_back({process, card.whole() == nullptr ? kNoInstance : card.instanceId()});
  }
  return all;
}

void fill(nvmlProcessInfo_v1_t* out, const ComputeProcess& one) {
  *out = {};
  out->pid = static_cast<unsigned>(one.process.pid);
  out->usedGpuMemory = one.process.bytes;
}

void fill(nvmlProcessInfo_v2_t* out, const ComputeProcess& one) {
  *out = {};
  out->pid = static_cast<unsigned>(one.process.pid);
  out->usedGpuMemory = one.process.bytes;
  out->gpuInstanceId = one.instance;
  out->computeInstanceId = one.instance == kNoInstance ? kNoInstance : 0;
}

// NVML's size negotiation: the count is always returned. INSUFFICIENT_SIZE if the array is too
// small; a count of 0 without an array only queries the number.
template <typename Info>
nvmlReturn_t copyProcesses(nvmlDevice_t device, unsigned* count, Info* infos, bool compute) {
  return withCard(device, [&](NvmlCard& card) {
    if (count == nullptr || (*count > 0 && infos == nullptr)) return NVML_ERROR_INVALID_ARGUMENT;
    const std::vector<ComputeProcess> processes =
        compute ? computeProcesses(card) : std::vector<ComputeProcess>();
    const unsigned room = *count;
    *count = static_cast<unsigned>(processes.size());
    if (processes.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < processes.size(); ++i) fill(&infos[i], processes[i]);
    return NVML_SUCCESS;
  });
}

}  // namespace

SIMGPU_IMPL(nvmlDeviceGetMemoryInfo)(nvmlDevice_t device, nvmlMemory_t* memory) {
  return withCard(device, [&](NvmlCard& card) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    memory->total = card.profile().memory_bytes;
    memory->used = card.profile().reserved_bytes + usedBytes(card);
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetMemoryInfo_v2)(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return withCard(device, [&](NvmlCard& card) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = card.profile().memory_bytes;
    memory->reserved = card.profile().reserved_bytes;
    memory->used = usedBytes(card);
    memory->free = memory->total - memory->reserved - memory->used;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetBAR1MemoryInfo)(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
  return withCard(device, [&](NvmlCard& card) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    // Data-centre cards map all memory, rounded up to a power of two; the others 256 MiB.
    std::uint64_t size = 256ull << 20;
    while (card.profile().ecc && size < card.profile().memory_bytes) size *= 2;
    memory->bar1Total = size;
    memory->bar1Used = 2ull << 20;
    memory->bar1Free = memory->bar1Total - memory->bar1Used;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetComputeRunningProcesses)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos) {
  return copyProcesses(device, count, infos, true);
}
SIMGPU_IMPL(nvmlDeviceGetComputeRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos) {
  return copyProcesses(device, count, infos, true);
}
SIMGPU_IMPL(nvmlDeviceGetComputeRunningProcesses_v3)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos) {
  return copyProcesses(device, count, infos, true);
}
SIMGPU_IMPL(nvmlDeviceGetGraphicsRunningProcesses)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos) {
  return copyProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetGraphicsRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos) {
  return copyProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetGraphicsRunningProcesses_v3)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos) {
  return copyProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetMPSComputeRunningProcesses)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos) {
  return copyProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetMPSComputeRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos) {
  return copyProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetMPSComputeRunningProcesses_v3)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos) {
  return copyProcesses(device, count, infos, false);
}

SIMGPU_IMPL(nvmlDeviceGetRunningProcessDetailList)
(nvmlDevice_t device, nvmlProcessDetailList_t* list) {
  return withCard(device, [&](NvmlCard& card) {
    if (list == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (list->mode > NVML_PROCESS_MODE_MPS) return NVML_ERROR_INVALID_ARGUMENT;
    const std::vector<ComputeProcess> processes = list->mode == NVML_PROCESS_MODE_COMPUTE
                                                      ? computeProcesses(card)
                                                      : std::vector<ComputeProcess>();
    const unsigned room = list->procArray == nullptr ? 0 : list->numProcArrayEntries;
    list->numProcArrayEntries = static_cast<unsigned>(processes.size());
    if (processes.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const ComputeProcess& one = processes[i];
      list->procArray[i] = {.pid = static_cast<unsigned>(one.process.pid),
                            .usedGpuMemory = one.process.bytes,
                            .gpuInstanceId = one.instance,
                            .computeInstanceId = one.instance == kNoInstance ? kNoInstance : 0,
                            .usedGpuCcProtectedMemory = 0};
    }
    return NVML_SUCCESS;
  });
}

}  // namespace divvy::simgpu
