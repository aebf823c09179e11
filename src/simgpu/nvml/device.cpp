// The cards and their properties.
#include <cstdio>
#include <cstring>
#include <string>

#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

constexpr nvmlDeviceArchitecture_t kVolta = 5;
constexpr nvmlDeviceArchitecture_t kTuring = 6;
constexpr nvmlDeviceArchitecture_t kAmpere = 7;
constexpr nvmlDeviceArchitecture_t kAda = 8;
constexpr nvmlDeviceArchitecture_t kHopper = 9;
constexpr nvmlDeviceArchitecture_t kBlackwell = 10;
constexpr unsigned kPcie = 2;  // NVML_BUS_TYPE_PCIE

nvmlDeviceArchitecture_t architectureOf(const Profile& profile) {
  if (profile.cc_major >= 10) return kBlackwell;
  if (profile.cc_major == 9) return kHopper;
  if (profile.cc_major == 8) return profile.cc_minor == 9 ? kAda : kAmpere;
  return profile.cc_minor == 5 ? kTuring : kVolta;
}

bool isConsumer(const Profile& profile) {
  return profile.model.find("GeForce") != std::string_view::npos;
}

void fillPci(const NvmlCard& card, nvmlPciInfo_t* pci) {
  const CardIdentity& id = card.identity();
  *pci = {};
  pci->domain = id.pci_domain;
  pci->bus = id.pci_bus;
  pci->device = id.pci_device;
  pci->pciDeviceId = card.profile().pci_device_id;
  std::snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.0",
                id.pci_domain & 0xffff, id.pci_bus & 0xff, id.pci_device & 0x1f);
  std::snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", id.pci_domain,
                id.pci_bus & 0xff, id.pci_device & 0x1f);
}

// "domain:bus:device.function" or "bus:device.function", hexadecimal, as the real one accepts.
bool parsePci(const char* text, unsigned* domain, unsigned* bus, unsigned* device) {
  unsigned function = 0;
  char rest = 0;
  if (std::sscanf(text, "%x:%x:%x.%x%c", domain, bus, device, &function, &rest) == 4) return true;
  *domain = 0;
  return std::sscanf(text, "%x:%x.%x%c", bus, device, &function, &rest) == 3;
}

template <typename Matches>
nvmlReturn_t lookUp(nvmlDevice_t* device, Matches&& matches) {
  return withNvml([&](NvmlMachine& machine) {
    if (device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    NvmlCard* found = nullptr;
    for (const auto& card : machine.cards()) {
      if (found == nullptr && matches(*card)) found = card.get();
      for (const auto& part : card->parts())
        if (found == nullptr && matches(*part)) found = part.get();
    }
    if (found == nullptr) return NVML_ERROR_NOT_FOUND;
    if (machine.lostHere() || found->lost()) return NVML_ERROR_GPU_IS_LOST;
    *device = found->handle();
    return NVML_SUCCESS;
  });
}

}  // namespace

SIMGPU_IMPL(nvmlDeviceGetCount_v2)(unsigned int* count) {
  return withNvml([&](NvmlMachine& machine) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = static_cast<unsigned>(machine.cards().size());
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetCount)(unsigned int* count) {
  return sim_nvmlDeviceGetCount_v2(count);
}

SIMGPU_IMPL(nvmlDeviceGetHandleByIndex_v2)(unsigned int index, nvmlDevice_t* device) {
  const nvmlReturn_t result = lookUp(device, [&](const NvmlCard& card) {
    return card.whole() == nullptr && card.index() == static_cast<int>(index);
  });
  return result == NVML_ERROR_NOT_FOUND ? NVML_ERROR_INVALID_ARGUMENT : result;
}
SIMGPU_IMPL(nvmlDeviceGetHandleByIndex)(unsigned int index, nvmlDevice_t* device) {
  return sim_nvmlDeviceGetHandleByIndex_v2(index, device);
}

SIMGPU_IMPL(nvmlDeviceGetHandleByUUID)(const char* uuid, nvmlDevice_t* device) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return lookUp(device, [&](const NvmlCard& card) { return card.identity().uuidText() == uuid; });
}

SIMGPU_IMPL(nvmlDeviceGetHandleByUUIDV)(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (uuid->type == NVML_UUID_TYPE_ASCII) {
    return sim_nvmlDeviceGetHandleByUUID(uuid->value.str, device);
  }
  if (uuid->type != NVML_UUID_TYPE_BINARY) return NVML_ERROR_INVALID_ARGUMENT;
  return lookUp(device, [&](const NvmlCard& card) {
    return std::memcmp(card.identity().uuid, uuid->value.bytes, sizeof(uuid->value.bytes)) == 0;
  });
}

SIMGPU_IMPL(nvmlDeviceGetHandleBySerial)(const char* serial, nvmlDevice_t* device) {
  if (serial == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return lookUp(device,
                [&](const NvmlCard& card) { return card.identity().serialText() == serial; });
}

SIMGPU_IMPL(nvmlDeviceGetHandleByPciBusId_v2)(const char* bus_id, nvmlDevice_t* device) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  if (bus_id == nullptr || !parsePci(bus_id, &domain, &bus, &slot)) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return lookUp(device, [&](const NvmlCard& card) {
    const CardIdentity& id = card.identity();
    return id.pci_domain == domain && id.pci_bus == bus && id.pci_device == slot;
  });
}
SIMGPU_IMPL(nvmlDeviceGetHandleByPciBusId)(const char* bus_id, nvmlDevice_t* device) {
  return sim_nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

SIMGPU_IMPL(nvmlDeviceGetName)(nvmlDevice_t device, char* name, unsigned int length) {
  return withCard(device, [&](NvmlCard& card) {
    return copyText(std::string(card.profile().model), name, length);
  });
}
SIMGPU_IMPL(nvmlDeviceGetUUID)(nvmlDevice_t device, char* uuid, unsigned int length) {
  return withCard(
      device, [&](NvmlCard& card) { return copyText(card.identity().uuidText(), uuid, length); });
}
SIMGPU_IMPL(nvmlDeviceGetSerial)(nvmlDevice_t device, char* serial, unsigned int length) {
  return withCard(device, [&](NvmlCard& card) {
    if (isConsumer(card.profile())) return NVML_ERROR_NOT_SUPPORTED;
    return copyText(card.identity().serialText(), serial, length);
  });
}
SIMGPU_IMPL(nvmlDeviceGetVbiosVersion)(nvmlDevice_t device, char* version, unsigned int length) {
  return withCard(device, [&](NvmlCard&) { return copyText("00.00.00.00.01", version, length); });
}

SIMGPU_IMPL(nvmlDeviceGetIndex)(nvmlDevice_t device, unsigned int* index) {
  return answer(device, index, [](NvmlCard& card) { return card.index(); });
}
SIMGPU_IMPL(nvmlDeviceGetMinorNumber)(nvmlDevice_t device, unsigned int* minor) {
  return answer(device, minor, [](NvmlCard& card) { return card.index(); });
}
SIMGPU_IMPL(nvmlDeviceGetBrand)(nvmlDevice_t device, nvmlBrandType_t* type) {
  return answer(device, type, [](NvmlCard& card) {
    return isConsumer(card.profile()) ? NVML_BRAND_GEFORCE : NVML_BRAND_NVIDIA;
  });
}
SIMGPU_IMPL(nvmlDeviceGetArchitecture)(nvmlDevice_t device, nvmlDeviceArchitecture_t* arch) {
  return answer(device, arch, [](NvmlCard& card) { return architectureOf(card.profile()); });
}
SIMGPU_IMPL(nvmlDeviceGetNumGpuCores)(nvmlDevice_t device, unsigned int* cores) {
  return answer(device, cores, [](NvmlCard& card) {
    return card.profile().sm_count * card.profile().cores_per_sm;
  });
}
SIMGPU_IMPL(nvmlDeviceGetMemoryBusWidth)(nvmlDevice_t device, unsigned int* bits) {
  return answer(device, bits, [](NvmlCard& card) { return card.profile().bus_bits; });
}
SIMGPU_IMPL(nvmlDeviceGetBusType)(nvmlDevice_t device, nvmlBusType_t* type) {
  return answer(device, type, [](NvmlCard&) { return kPcie; });
}

SIMGPU_IMPL(nvmlDeviceGetCudaComputeCapability)(nvmlDevice_t device, int* major, int* minor) {
  return withCard(device, [&](NvmlCard& card) {
    if (major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *major = card.profile().cc_major;
    *minor = card.profile().cc_minor;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetPciInfo_v3)(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return withCard(device, [&](NvmlCard& card) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    fillPci(card, pci);
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetPciInfo_v2)(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return sim_nvmlDeviceGetPciInfo_v3(device, pci);
}
// The first version's structure ends where busId begins, with four reserved words there.
SIMGPU_IMPL(nvmlDeviceGetPciInfo)(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return withCard(device, [&](NvmlCard& card) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlPciInfo_t full;
    fillPci(card, &full);
    std::memcpy(pci, &full, offsetof(nvmlPciInfo_t, busId));
    return NVML_SUCCESS;
  });
}

// For instances only.
SIMGPU_IMPL(nvmlDeviceGetAttributes_v2)(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return withCard(device, [&](NvmlCard& card) {
    if (card.whole() == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    if (attributes == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Profile& profile = card.profile();
    *attributes = {};
    attributes->multiprocessorCount = static_cast<unsigned>(profile.sm_count);
    attributes->sharedCopyEngineCount = static_cast<unsigned>(profile.copy_engines);
    attributes->gpuInstanceSliceCount = static_cast<unsigned>(profile.slices);
    attributes->computeInstanceSliceCount = static_cast<unsigned>(profile.slices);
    attributes->memorySizeMB = profile.memory_bytes >> 20;
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetAttributes)(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return sim_nvmlDeviceGetAttributes_v2(device, attributes);
}

SIMGPU_IMPL(nvmlDeviceGetMigMode)
(nvmlDevice_t device, unsigned int* current, unsigned int* pending) {
  return withCard(device, [&](NvmlCard& card) {
    if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!card.profile().mig_capable) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = card.partitioned() ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceIsMigDeviceHandle)(nvmlDevice_t device, unsigned int* is_mig) {
  return answer(device, is_mig, [](NvmlCard& card) { return card.whole() != nullptr ? 1 : 0; });
}
SIMGPU_IMPL(nvmlDeviceGetMaxMigDeviceCount)(nvmlDevice_t device, unsigned int* count) {
  return answer(device, count, [](NvmlCard& card) { return card.profile().mig_capable ? 7 : 0; });
}
SIMGPU_IMPL(nvmlDeviceGetMigDeviceHandleByIndex)
(nvmlDevice_t device, unsigned int index, nvmlDevice_t* instance) {
  return withCard(device, [&](NvmlCard& card) {
    if (!card.profile().mig_capable) return NVML_ERROR_NOT_SUPPORTED;
    if (instance == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (index >= card.parts().size()) return NVML_ERROR_NOT_FOUND;
    *instance = card.parts()[index]->handle();
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)
(nvmlDevice_t instance, nvmlDevice_t* device) {
  return withCard(instance, [&](NvmlCard& card) {
    if (device == nullptr || card.whole() == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *device = card.whole()->handle();
    return NVML_SUCCESS;
  });
}

}  // namespace divvy::simgpu
