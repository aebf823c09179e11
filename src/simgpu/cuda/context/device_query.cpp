// cuInit, cuDriverGetVersion, cuDevice*: the devices and their properties.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda/context/api_prologue.h"
#include "cuda/context/device_attributes.h"
#include "cuda/context/variant.h"

namespace divvy::simgpu {
namespace {

// Runs `body` on the device, or returns that there is no such device.
template <typename Body>
CUresult onDevice(Cu id, CUdevice ordinal, Body&& body) {
  return withDriver(id, [&]() -> CUresult {
    Device* device = findDevice(ordinal);
    return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : body(*device);
  });
}

void copyText(char* to, int room, const std::string& text) {
  const std::size_t length = std::min(text.size(), static_cast<std::size_t>(room) - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

CUresult copyUuid(CUuuid* out, const CardIdentity& identity) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out->bytes, identity.uuid, sizeof out->bytes);
  return CUDA_SUCCESS;
}

std::string busId(const Device& device) {
  char text[32];
  std::snprintf(text, sizeof text, "%04X:%02X:%02X.0", device.identity.pci_domain,
                device.identity.pci_bus, device.identity.pci_device);
  return text;
}

// "[domain]:[bus]:[device].[function]", domain and function may be absent; hexadecimal.
bool parseBusId(const std::string& text, unsigned (&part)[3]) {
  const std::size_t dot = text.find('.');
  if (dot != std::string::npos && text.substr(dot) != ".0") return false;
  const std::string head = text.substr(0, dot);
  const int end = static_cast<int>(head.size());
  int used = -1;
  part[0] = 0;
  if (std::sscanf(head.c_str(), "%x:%x:%x%n", &part[0], &part[1], &part[2], &used) == 3) {
    return used == end;
  }
  part[0] = 0;
  return std::sscanf(head.c_str(), "%x:%x%n", &part[1], &part[2], &used) == 2 && used == end;
}

CUresult fillProperties(CUdevprop* out, const Device& device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  out->maxThreadsPerBlock = 1024;
  out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
  out->maxThreadsDim[2] = 64;
  out->maxGridSize[0] = 0x7fffffff;
  out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->sharedMemPerBlock = 49152;
  out->totalConstantMemory = 65536;
  out->SIMDWidth = 32;
  out->memPitch = 0x7fffffff;
  out->regsPerBlock = 65536;
  out->clockRate = device.profile->sm_mhz * 1000;
  out->textureAlign = 512;
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuInit)(unsigned flags) {
  return withNothing(Cu::cuInit, [&]() -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return Runtime::get().init();
  });
}
SIMGPU_IMPL(cuDriverGetVersion)(int* version) {
  return withNothing(Cu::cuDriverGetVersion, [&]() -> CUresult {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = configuredDriverVersion();
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuDeviceGetCount)(int* count) {
  return withDriver(Cu::cuDeviceGetCount, [&]() -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = deviceCount();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGet)(CUdevice* device, int ordinal) {
  return withDriver(Cu::cuDeviceGet, [&]() -> CUresult {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (findDevice(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetName)(char* name, int length, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetName, ordinal, [&](Device& device) -> CUresult {
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    copyText(name, length, std::string(device.profile->model));
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetUuid)(CUuuid* uuid, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetUuid, ordinal,
                  [&](Device& device) { return copyUuid(uuid, device.board); });
}
SIMGPU_IMPL(cuDeviceGetUuid_v2)(CUuuid* uuid, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetUuid_v2, ordinal,
                  [&](Device& device) { return copyUuid(uuid, device.identity); });
}
SIMGPU_IMPL(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceTotalMem_v2, ordinal, [&](Device& device) -> CUresult {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = device.card.capacity();
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceTotalMem)(unsigned* bytes, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceTotalMem, ordinal, [&](Device&) -> CUresult {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    size_t wide = 0;
    const CUresult result = ::cuDeviceTotalMem_v2(&wide, ordinal);
    *bytes = static_cast<unsigned>(std::min<size_t>(wide, ~0U));
    return result;
  });
}
SIMGPU_IMPL(cuDeviceGetAttribute)(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetAttribute, ordinal, [&](Device& device) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return deviceAttribute(device, attribute, value);
  });
}
SIMGPU_IMPL(cuDeviceGetProperties)(CUdevprop* properties, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetProperties, ordinal,
                  [&](Device& device) { return fillProperties(properties, device); });
}
SIMGPU_IMPL(cuDeviceComputeCapability)(int* major, int* minor, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceComputeCapability, ordinal, [&](Device& device) -> CUresult {
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *major = device.profile->cc_major;
    *minor = device.profile->cc_minor;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetPCIBusId)(char* text, int length, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetPCIBusId, ordinal, [&](Device& device) -> CUresult {
    const std::string id = busId(device);
    if (text == nullptr || length <= static_cast<int>(id.size())) return CUDA_ERROR_INVALID_VALUE;
    copyText(text, length, id);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetByPCIBusId)(CUdevice* out, const char* text) {
  return withDriver(Cu::cuDeviceGetByPCIBusId, [&]() -> CUresult {
    unsigned part[3];
    if (out == nullptr || text == nullptr || !parseBusId(text, part)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (const auto& device : Runtime::get().devices()) {
      const CardIdentity& identity = device->identity;
      if (identity.pci_domain != part[0] || identity.pci_bus != part[1] ||
          identity.pci_device != part[2]) {
        continue;
      }
      *out = device->ordinal;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}
SIMGPU_IMPL(cuDeviceGetTexture1DLinearMaxWidth)
(size_t* width, CUarray_format, unsigned channels, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetTexture1DLinearMaxWidth, ordinal, [&](Device&) -> CUresult {
    if (width == nullptr || channels == 0) return CUDA_ERROR_INVALID_VALUE;
    *width = std::size_t{1} << 28;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetExecAffinitySupport)
(int* supported, CUexecAffinityType type, CUdevice ordinal) {
  return onDevice(Cu::cuDeviceGetExecAffinitySupport, ordinal, [&](Device&) -> CUresult {
    if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *supported = type == CU_EXEC_AFFINITY_TYPE_SM_COUNT ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuFlushGPUDirectRDMAWrites)
(CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope) {
  return withContext(Cu::cuFlushGPUDirectRDMAWrites, [](Context&) { return CUDA_SUCCESS; });
}

}  // namespace divvy::simgpu
