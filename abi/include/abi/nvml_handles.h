// NVML's handles, plain values and constants under NVIDIA's names. Our own text; tests/abi compares
// every size with NVIDIA's header where there is one. Never include this together with nvml.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/nvml_enums.h"

using nvmlDevice_t = struct nvmlDevice_st*;
using nvmlGpuInstance_t = struct nvmlGpuInstance_st*;
using nvmlComputeInstance_t = struct nvmlComputeInstance_st*;
using nvmlUnit_t = struct nvmlUnit_st*;
using nvmlEventSet_t = struct nvmlEventSet_st*;
using nvmlGpmSample_t = struct nvmlGpmSample_st*;

using nvmlVgpuTypeId_t = unsigned int;
using nvmlVgpuInstance_t = unsigned int;
using nvmlAffinityScope_t = unsigned int;
using nvmlBusType_t = unsigned int;
using nvmlDeviceArchitecture_t = unsigned int;
using nvmlFanControlPolicy_t = unsigned int;
using nvmlPowerSource_t = unsigned int;
using nvmlGpuFabricState_t = unsigned char;
using nvmlPowerScopeType_t = unsigned char;

// Sizes of text buffers, bytes with the final zero.
inline constexpr unsigned NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE = 32;
inline constexpr unsigned NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE = 16;
inline constexpr unsigned NVML_DEVICE_UUID_BUFFER_SIZE = 80;
inline constexpr unsigned NVML_DEVICE_UUID_V2_BUFFER_SIZE = 96;
inline constexpr unsigned NVML_DEVICE_NAME_BUFFER_SIZE = 64;
inline constexpr unsigned NVML_DEVICE_NAME_V2_BUFFER_SIZE = 96;
inline constexpr unsigned NVML_DEVICE_SERIAL_BUFFER_SIZE = 30;
inline constexpr unsigned NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE = 80;
inline constexpr unsigned NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE = 80;

inline constexpr unsigned NVML_INIT_FLAG_NO_GPUS = 1;
inline constexpr unsigned NVML_INIT_FLAG_NO_ATTACH = 2;
inline constexpr unsigned NVML_INIT_FLAG_FORCE_INIT = 4;
inline constexpr unsigned NVML_DEVICE_MIG_DISABLE = 0;
inline constexpr unsigned NVML_DEVICE_MIG_ENABLE = 1;
inline constexpr unsigned long long NVML_VALUE_NOT_AVAILABLE = ~0ULL;

inline constexpr unsigned long long nvmlEventTypeSingleBitEccError = 0x01;
inline constexpr unsigned long long nvmlEventTypeDoubleBitEccError = 0x02;
inline constexpr unsigned long long nvmlEventTypePState = 0x04;
inline constexpr unsigned long long nvmlEventTypeXidCriticalError = 0x08;
inline constexpr unsigned long long nvmlEventTypeClock = 0x10;

// What a structure's `version` member must hold: its size, and its number in the top byte.
template <class T>
constexpr unsigned nvmlStructVersion(unsigned number) {
  return static_cast<unsigned>(sizeof(T)) | number << 24;
}
