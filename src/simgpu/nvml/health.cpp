// Clocks, temperature, power, errors: plausible values where nothing depends on them, exact effects
// of faults.
#include <algorithm>

#include "nvml/busy.h"
#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

bool busy(NvmlCard& card) {
  return sampleBusy(card).compute_percent > 0;
}

unsigned clockOf(NvmlCard& card, nvmlClockType_t type, bool at_most) {
  const Profile& profile = card.profile();
  if (type == NVML_CLOCK_MEM) return static_cast<unsigned>(profile.memory_mhz);
  const int idle = std::min(profile.sm_mhz, 345);
  return static_cast<unsigned>(at_most || busy(card) ? profile.sm_mhz : idle);
}

unsigned powerOf(NvmlCard& card) {
  const Profile& profile = card.profile();
  const unsigned percent = sampleBusy(card).compute_percent;
  const int range = profile.power_limit_mw - profile.idle_power_mw;
  return static_cast<unsigned>(profile.idle_power_mw) +
         static_cast<unsigned>(static_cast<long long>(range) * percent * 9 / 1000);
}

nvmlReturn_t clockAnswer(nvmlDevice_t device, nvmlClockType_t type, unsigned* clock, bool at_most) {
  if (type >= NVML_CLOCK_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
  return answer(device, clock, [&](NvmlCard& card) { return clockOf(card, type, at_most); });
}

}  // namespace

SIMGPU_IMPL(nvmlDeviceGetClockInfo)
(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return clockAnswer(device, type, clock, false);
}
SIMGPU_IMPL(nvmlDeviceGetMaxClockInfo)
(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return clockAnswer(device, type, clock, true);
}
SIMGPU_IMPL(nvmlDeviceGetApplicationsClock)
(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return clockAnswer(device, type, clock, true);
}

SIMGPU_IMPL(nvmlDeviceGetTemperature)
(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int* degrees) {
  if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return answer(device, degrees,
                [](NvmlCard& card) { return 32 + sampleBusy(card).compute_percent * 35 / 100; });
}
SIMGPU_IMPL(nvmlDeviceGetFanSpeed)(nvmlDevice_t device, unsigned int* speed) {
  return withCard(device, [&](NvmlCard& card) {
    if (speed == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (card.profile().ecc) return NVML_ERROR_NOT_SUPPORTED;  // passively cooled
    *speed = 30;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetPowerUsage)(nvmlDevice_t device, unsigned int* milliwatts) {
  return answer(device, milliwatts, powerOf);
}
SIMGPU_IMPL(nvmlDeviceGetEnforcedPowerLimit)(nvmlDevice_t device, unsigned int* milliwatts) {
  return answer(device, milliwatts, [](NvmlCard& card) { return card.profile().power_limit_mw; });
}
SIMGPU_IMPL(nvmlDeviceGetPowerManagementLimit)(nvmlDevice_t device, unsigned int* milliwatts) {
  return sim_nvmlDeviceGetEnforcedPowerLimit(device, milliwatts);
}
SIMGPU_IMPL(nvmlDeviceGetPowerManagementDefaultLimit)
(nvmlDevice_t device, unsigned int* milliwatts) {
  return sim_nvmlDeviceGetEnforcedPowerLimit(device, milliwatts);
}
SIMGPU_IMPL(nvmlDeviceGetPowerManagementMode)(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return answer(device, mode, [](NvmlCard&) { return NVML_FEATURE_ENABLED; });
}
SIMGPU_IMPL(nvmlDeviceGetPerformanceState)(nvmlDevice_t device, nvmlPstates_t* state) {
  return answer(device, state,
                [](NvmlCard& card) { return busy(card) ? NVML_PSTATE_0 : NVML_PSTATE_8; });
}
SIMGPU_IMPL(nvmlDeviceGetCurrentClocksEventReasons)
(nvmlDevice_t device, unsigned long long* reasons) {
  return answer(device, reasons, [](NvmlCard& card) { return busy(card) ? 0 : 1; });
}
SIMGPU_IMPL(nvmlDeviceGetCurrentClocksThrottleReasons)
(nvmlDevice_t device, unsigned long long* reasons) {
  return sim_nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

SIMGPU_IMPL(nvmlDeviceGetPersistenceMode)(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return answer(device, mode, [](NvmlCard&) { return NVML_FEATURE_ENABLED; });
}
SIMGPU_IMPL(nvmlDeviceGetComputeMode)(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return answer(device, mode, [](NvmlCard&) { return NVML_COMPUTEMODE_DEFAULT; });
}
SIMGPU_IMPL(nvmlDeviceGetDisplayMode)(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return answer(device, mode, [](NvmlCard&) { return NVML_FEATURE_DISABLED; });
}
SIMGPU_IMPL(nvmlDeviceGetDisplayActive)(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return answer(device, mode, [](NvmlCard&) { return NVML_FEATURE_DISABLED; });
}

SIMGPU_IMPL(nvmlDeviceGetEccMode)
(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return withCard(device, [&](NvmlCard& card) {
    if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!card.profile().ecc) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetTotalEccErrors)
(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
 unsigned long long* count) {
  return withCard(device, [&](NvmlCard& card) {
    if (count == nullptr || type > NVML_MEMORY_ERROR_TYPE_UNCORRECTED ||
        counter > NVML_AGGREGATE_ECC) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (!card.profile().ecc) return NVML_ERROR_NOT_SUPPORTED;
    *count = 0;
    if (Card* shared = card.sharedCard(); shared != nullptr) {
      const CardLock lock(*shared);
      const CardFile& file = shared->file();
      *count = counter == NVML_VOLATILE_ECC ? file.ecc_volatile[type] : file.ecc_aggregate[type];
    }
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetRetiredPagesPendingStatus)
(nvmlDevice_t device, nvmlEnableState_t* pending) {
  return withCard(device, [&](NvmlCard& card) {
    if (pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    // Ampere and later remap rows instead.
    if (!card.profile().ecc || card.profile().cc_major >= 8) return NVML_ERROR_NOT_SUPPORTED;
    *pending = NVML_FEATURE_DISABLED;
    if (Card* shared = card.sharedCard(); shared != nullptr) {
      const CardLock lock(*shared);
      if (shared->file().rows_pending != 0) *pending = NVML_FEATURE_ENABLED;
    }
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetRemappedRows)
(nvmlDevice_t device, unsigned int* correctable, unsigned int* uncorrectable, unsigned int* pending,
 unsigned int* failed) {
  return withCard(device, [&](NvmlCard& card) {
    if (correctable == nullptr || uncorrectable == nullptr || pending == nullptr ||
        failed == nullptr) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (!card.profile().ecc || card.profile().cc_major < 8) return NVML_ERROR_NOT_SUPPORTED;
    *correctable = *uncorrectable = *pending = *failed = 0;
    if (Card* shared = card.sharedCard(); shared != nullptr) {
      const CardLock lock(*shared);
      *pending = shared->file().rows_pending;
      *failed = shared->file().rows_failed;
    }
    return NVML_SUCCESS;
  });
}

}  // namespace divvy::simgpu
