// Further queries of monitoring tools: board, affinity, thresholds.
#include <sched.h>

#include <cstdio>
#include <cstring>

#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

// All processors this process may use: the simulated cards are equally near to all of them.
nvmlReturn_t affinity(nvmlDevice_t device, unsigned words, unsigned long* set) {
  return withCard(device, [&](NvmlCard&) {
    if (set == nullptr || words == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::memset(set, 0, words * sizeof *set);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    constexpr unsigned kBits = 8 * sizeof(unsigned long);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpu / kBits < words; ++cpu) {
      if (CPU_ISSET(cpu, &cpus)) set[cpu / kBits] |= 1UL << (cpu % kBits);
    }
    return NVML_SUCCESS;
  });
}

nvmlReturn_t noneAnywhere(unsigned* count) {
  return withNvml([&](NvmlMachine&) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
  });
}

}  // namespace

SIMGPU_IMPL(nvmlDeviceGetModuleId)(nvmlDevice_t device, unsigned int* id) {
  return answer(device, id, [](NvmlCard& card) { return card.index() + 1; });
}
SIMGPU_IMPL(nvmlDeviceGetBoardId)(nvmlDevice_t device, unsigned int* id) {
  return answer(device, id, [](NvmlCard& card) { return card.identity().pci_bus << 8; });
}
SIMGPU_IMPL(nvmlDeviceGetMultiGpuBoard)(nvmlDevice_t device, unsigned int* multi) {
  return answer(device, multi, [](NvmlCard&) { return 0; });
}
SIMGPU_IMPL(nvmlDeviceGetNumFans)(nvmlDevice_t device, unsigned int* fans) {
  return answer(device, fans, [](NvmlCard& card) { return card.profile().ecc ? 0 : 2; });
}
SIMGPU_IMPL(nvmlDeviceGetPowerState)(nvmlDevice_t device, nvmlPstates_t* state) {
  return answer(device, state, [](NvmlCard&) { return NVML_PSTATE_0; });
}
SIMGPU_IMPL(nvmlDeviceGetPciInfoExt)(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  return withCard(device, [&](NvmlCard& card) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const CardIdentity& id = card.identity();
    pci->domain = id.pci_domain;
    pci->bus = id.pci_bus;
    pci->device = id.pci_device;
    pci->pciDeviceId = card.profile().pci_device_id;
    pci->baseClass = 3;
    pci->subClass = card.profile().ecc ? 2 : 0;
    std::snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", id.pci_domain, id.pci_bus,
                  id.pci_device);
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetPowerManagementLimitConstraints)
(nvmlDevice_t device, unsigned int* low, unsigned int* high) {
  return withCard(device, [&](NvmlCard& card) {
    if (low == nullptr || high == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *high = static_cast<unsigned>(card.profile().power_limit_mw);
    *low = *high * 2 / 7;
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetTemperatureThreshold)
(nvmlDevice_t device, nvmlTemperatureThresholds_t threshold, unsigned int* celsius) {
  return withCard(device, [&](NvmlCard&) {
    if (celsius == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (threshold != NVML_TEMPERATURE_THRESHOLD_SHUTDOWN &&
        threshold != NVML_TEMPERATURE_THRESHOLD_SLOWDOWN) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    *celsius = threshold == NVML_TEMPERATURE_THRESHOLD_SHUTDOWN ? 92 : 87;
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetTemperatureV)(nvmlDevice_t device, nvmlTemperature_t* temperature) {
  if (temperature != nullptr && temperature->version != nvmlTemperature_v1) {
    return withCard(device, [](NvmlCard&) { return NVML_ERROR_ARGUMENT_VERSION_MISMATCH; });
  }
  unsigned celsius = 0;
  const nvmlReturn_t result =
      temperature == nullptr
          ? NVML_ERROR_INVALID_ARGUMENT
          : sim_nvmlDeviceGetTemperature(device, temperature->sensorType, &celsius);
  if (result == NVML_SUCCESS) temperature->temperature = static_cast<int>(celsius);
  return result;
}
SIMGPU_IMPL(nvmlDeviceGetClock)
(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t which, unsigned int* mhz) {
  return which == NVML_CLOCK_ID_CURRENT ? sim_nvmlDeviceGetClockInfo(device, type, mhz)
                                        : sim_nvmlDeviceGetMaxClockInfo(device, type, mhz);
}

SIMGPU_IMPL(nvmlDeviceGetNumaNodeId)(nvmlDevice_t device, unsigned int* node) {
  return answer(device, node, [](NvmlCard& card) {
    return NvmlMachine::get().topology().numaNodeOf(card.index());
  });
}
SIMGPU_IMPL(nvmlDeviceGetCpuAffinity)
(nvmlDevice_t device, unsigned int words, unsigned long* set) {
  return affinity(device, words, set);
}
SIMGPU_IMPL(nvmlDeviceGetCpuAffinityWithinScope)
(nvmlDevice_t device, unsigned int words, unsigned long* set, nvmlAffinityScope_t) {
  return affinity(device, words, set);
}
SIMGPU_IMPL(nvmlDeviceGetMemoryAffinity)
(nvmlDevice_t device, unsigned int words, unsigned long* set, nvmlAffinityScope_t) {
  return withCard(device, [&](NvmlCard& card) {
    if (set == nullptr || words == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::memset(set, 0, words * sizeof *set);
    set[0] = 1UL << NvmlMachine::get().topology().numaNodeOf(card.index());
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetMemoryErrorCounter)
(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
 nvmlMemoryLocation_t location, unsigned long long* count) {
  const nvmlReturn_t result = sim_nvmlDeviceGetTotalEccErrors(device, type, counter, count);
  // All injected errors are in device memory.
  if (result == NVML_SUCCESS && location != NVML_MEMORY_LOCATION_DEVICE_MEMORY) *count = 0;
  return result;
}
SIMGPU_IMPL(nvmlDeviceClearEccErrorCounts)(nvmlDevice_t device, nvmlEccCounterType_t counter) {
  return withCard(device, [&](NvmlCard& card) {
    if (!card.profile().ecc) return NVML_ERROR_NOT_SUPPORTED;
    Card* shared = card.sharedCard();
    if (shared == nullptr) return NVML_SUCCESS;
    CardLock lock(*shared);
    CardFile& file = shared->file();
    for (int i = 0; i < 2; ++i) {
      (counter == NVML_VOLATILE_ECC ? file.ecc_volatile : file.ecc_aggregate)[i] = 0;
    }
    return NVML_SUCCESS;
  });
}

// For instances only.
SIMGPU_IMPL(nvmlDeviceGetGpuInstanceId)(nvmlDevice_t device, unsigned int* id) {
  return withCard(device, [&](NvmlCard& card) {
    if (card.whole() == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    if (id == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *id = card.instanceId();
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetComputeInstanceId)(nvmlDevice_t device, unsigned int* id) {
  return withCard(device, [&](NvmlCard& card) {
    if (card.whole() == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    if (id == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *id = 0;
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlUnitGetCount)(unsigned int* count) {
  return noneAnywhere(count);
}
SIMGPU_IMPL(nvmlGetExcludedDeviceCount)(unsigned int* count) {
  return noneAnywhere(count);
}

}  // namespace divvy::simgpu
