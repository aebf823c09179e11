// Utilisation of cards and processes.
#include <cstdint>

#include "nvml/busy.h"
#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

// Unknown for partitioned cards and their instances.
bool isWholeCard(const NvmlCard& card) {
  return !card.partitioned() && card.whole() == nullptr;
}

}  // namespace

SIMGPU_IMPL(nvmlDeviceGetUtilizationRates)
(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return withCard(device, [&](NvmlCard& card) {
    if (utilization == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!isWholeCard(card)) return NVML_ERROR_NOT_SUPPORTED;
    const BusySample sample = sampleBusy(card);
    utilization->gpu = sample.compute_percent;
    utilization->memory = sample.copy_percent;
    return NVML_SUCCESS;
  });
}

// Samples newer than `last_seen` (microseconds); NOT_FOUND when there are none, as on an idle card.
SIMGPU_IMPL(nvmlDeviceGetProcessUtilization)
(nvmlDevice_t device, nvmlProcessUtilizationSample_t* out, unsigned int* count,
 unsigned long long last_seen) {
  return withCard(device, [&](NvmlCard& card) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!isWholeCard(card)) return NVML_ERROR_NOT_SUPPORTED;
    const BusySample sample = sampleBusy(card);
    const unsigned room = out == nullptr ? 0 : *count;
    *count = static_cast<unsigned>(sample.processes.size());
    if (sample.processes.empty() || sample.time_us <= last_seen) {
      *count = 0;
      return NVML_ERROR_NOT_FOUND;
    }
    if (room < sample.processes.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < sample.processes.size(); ++i) {
      const BusyProcess& process = sample.processes[i];
      out[i] = {.pid = static_cast<unsigned>(process.pid),
                .timeStamp = sample.time_us,
                .smUtil = process.compute_percent,
                .memUtil = process.copy_percent,
                .encUtil = 0,
                .decUtil = 0};
    }
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetProcessesUtilizationInfo)
(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t* info) {
  return withCard(device, [&](NvmlCard& card) {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlProcessesUtilizationInfo_v1) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (!isWholeCard(card)) return NVML_ERROR_NOT_SUPPORTED;
    const BusySample sample = sampleBusy(card);
    const unsigned room = info->procUtilArray == nullptr ? 0 : info->processSamplesCount;
    info->processSamplesCount = static_cast<unsigned>(sample.processes.size());
    if (sample.processes.empty() || sample.time_us <= info->lastSeenTimeStamp) {
      info->processSamplesCount = 0;
      return NVML_ERROR_NOT_FOUND;
    }
    if (room < sample.processes.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < sample.processes.size(); ++i) {
      const BusyProcess& process = sample.processes[i];
      info->procUtilArray[i] = {};
      info->procUtilArray[i].timeStamp = sample.time_us;
      info->procUtilArray[i].pid = static_cast<unsigned>(process.pid);
      info->procUtilArray[i].smUtil = process.compute_percent;
      info->procUtilArray[i].memUtil = process.copy_percent;
    }
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetEncoderUtilization)
(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us) {
  return withCard(device, [&](NvmlCard&) {
    if (utilization == nullptr || period_us == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *utilization = 0;
    *period_us = static_cast<unsigned>(kBusyBucketNs / 1000);
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetDecoderUtilization)
(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us) {
  return sim_nvmlDeviceGetEncoderUtilization(device, utilization, period_us);
}

}  // namespace divvy::simgpu
