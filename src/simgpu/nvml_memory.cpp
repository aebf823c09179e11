// Memory and who holds it.
#include <algorithm>
#include <vector>

#include "nvml_machine.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kNoInstance = 0xffffffff;  // outside MIG

std::uint64_t usedBytes(NvmlCard& card) {
  Card* books = card.books();
  return books == nullptr ? 0 : books->used();
}

// Processes with a context, in the order of their records. A process that only queries is unseen,
// and so is one of another container.
std::vector<ProcessView> computeProcesses(NvmlCard& card) {
  Card* books = card.books();
  if (books == nullptr) return {};
  std::vector<ProcessView> processes = books->view().processes;
  std::erase_if(processes, [](const ProcessView& process) {
    return process.contexts == 0 || process.pid == 0;
  });
  return processes;
}

void fill(nvmlProcessInfo_v1_t* out, const ProcessView& process) {
  *out = {};
  out->pid = static_cast<unsigned>(process.pid);
  out->usedGpuMemory = process.bytes;
}

void fill(nvmlProcessInfo_v2_t* out, const ProcessView& process) {
  *out = {};
  out->pid = static_cast<unsigned>(process.pid);
  out->usedGpuMemory = process.bytes;
  out->gpuInstanceId = kNoInstance;
  out->computeInstanceId = kNoInstance;
}

// NVML's size negotiation: the count comes back whatever the room, INSUFFICIENT_SIZE where it is
// too small; a count of 0 with no array asks for the number only.
template <typename Info>
nvmlReturn_t giveProcesses(nvmlDevice_t device, unsigned* count, Info* infos, bool compute) {
  return withCard(device, [&](NvmlCard& card) {
    if (count == nullptr || (*count > 0 && infos == nullptr)) return NVML_ERROR_INVALID_ARGUMENT;
    const std::vector<ProcessView> processes =
        compute ? computeProcesses(card) : std::vector<ProcessView>();
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
  return giveProcesses(device, count, infos, true);
}
SIMGPU_IMPL(nvmlDeviceGetComputeRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos) {
  return giveProcesses(device, count, infos, true);
}
SIMGPU_IMPL(nvmlDeviceGetComputeRunningProcesses_v3)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos) {
  return giveProcesses(device, count, infos, true);
}
SIMGPU_IMPL(nvmlDeviceGetGraphicsRunningProcesses)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos) {
  return giveProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetGraphicsRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos) {
  return giveProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetGraphicsRunningProcesses_v3)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos) {
  return giveProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetMPSComputeRunningProcesses)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos) {
  return giveProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetMPSComputeRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos) {
  return giveProcesses(device, count, infos, false);
}
SIMGPU_IMPL(nvmlDeviceGetMPSComputeRunningProcesses_v3)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos) {
  return giveProcesses(device, count, infos, false);
}

SIMGPU_IMPL(nvmlDeviceGetRunningProcessDetailList)
(nvmlDevice_t device, nvmlProcessDetailList_t* list) {
  return withCard(device, [&](NvmlCard& card) {
    if (list == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (list->mode > NVML_PROCESS_MODE_MPS) return NVML_ERROR_INVALID_ARGUMENT;
    const std::vector<ProcessView> processes = list->mode == NVML_PROCESS_MODE_COMPUTE
                                                   ? computeProcesses(card)
                                                   : std::vector<ProcessView>();
    const unsigned room = list->procArray == nullptr ? 0 : list->numProcArrayEntries;
    list->numProcArrayEntries = static_cast<unsigned>(processes.size());
    if (processes.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      list->procArray[i] = {.pid = static_cast<unsigned>(processes[i].pid),
                            .usedGpuMemory = processes[i].bytes,
                            .gpuInstanceId = kNoInstance,
                            .computeInstanceId = kNoInstance,
                            .usedGpuCcProtectedMemory = 0};
    }
    return NVML_SUCCESS;
  });
}

}  // namespace divvy::simgpu
