// The devices: exactly the tenant's, numbered from 0 in PCI order.
//
// NVML itself ignores CUDA_VISIBLE_DEVICES, and programs that map CUDA ordinals to NVML devices
// rely on that. So the variable is ignored here, too.
#include "nvml/nvml_table.h"
#include "nvml/tenant.h"

using namespace divvy::interposer;

namespace {

// No machine has as many devices: gets the driver's error for an index that does not exist.
constexpr unsigned kNoIndex = 0xFFFFFFFFu;

template <Nv kId>
nvmlReturn_t count(NvmlTenant* tenant, unsigned* device_count) {
  if (tenant == nullptr || device_count == nullptr) return driver<kId>(device_count);
  unsigned all = 0;
  const nvmlReturn_t result = driver<kId>(&all);
  if (result == NVML_SUCCESS) *device_count = tenant->view().cardCount();
  return result;
}

template <Nv kId>
nvmlReturn_t byIndex(NvmlTenant* tenant, unsigned index, nvmlDevice_t* device) {
  if (tenant == nullptr || device == nullptr) return driver<kId>(index, device);
  nvmlDevice_t handle = nullptr;
  if (index >= tenant->view().cardCount()) return driver<kId>(kNoIndex, &handle);
  const nvmlReturn_t result = tenant->view().cardHandle(index, &handle);
  if (result == NVML_SUCCESS) *device = handle;
  return result;
}

// A look-up by name: the driver finds the device, and a foreign one counts as missing.
template <Nv kId, typename Key>
nvmlReturn_t byName(NvmlTenant* tenant, Key key, nvmlDevice_t* device) {
  if (tenant == nullptr || device == nullptr) return driver<kId>(key, device);
  nvmlDevice_t handle = nullptr;
  const nvmlReturn_t result = driver<kId>(key, &handle);
  if (result != NVML_SUCCESS) return result;
  if (!tenant->view().holds(handle)) return NVML_ERROR_NOT_FOUND;
  *device = handle;
  return NVML_SUCCESS;
}

// Lists of neighbouring devices. `count` 0 or `devices` null only queries their number.
template <typename Ask>
nvmlReturn_t neighbours(NvmlTenant& tenant, unsigned* count, nvmlDevice_t* devices, Ask ask) {
  constexpr unsigned kMaxDriverDevices = 64;  // twice the number of any node
  nvmlDevice_t all[kMaxDriverDevices];
  unsigned found = 0;
  nvmlReturn_t result = ask(&found, nullptr);
  if (result != NVML_SUCCESS || found == 0) {
    if (result == NVML_SUCCESS) *count = 0;
    return result;
  }
  if (found > kMaxDriverDevices) found = kMaxDriverDevices;
  result = ask(&found, all);
  if (result != NVML_SUCCESS) return result;
  const unsigned room = devices == nullptr ? 0 : *count;
  unsigned kept = 0;
  for (unsigned i = 0; i < found && i < kMaxDriverDevices; ++i) {
    if (tenant.view().find(all[i]) == nullptr) continue;
    if (kept < room) devices[kept] = all[i];
    ++kept;
  }
  *count = room == 0 || kept < room ? kept : room;
  return NVML_SUCCESS;
}

}  // namespace

DIVVY_HOOK(nvmlDeviceGetCount)(unsigned* deviceCount) noexcept {
  return count<Nv::nvmlDeviceGetCount>(viewerFor(caller()), deviceCount);
}

DIVVY_HOOK(nvmlDeviceGetCount_v2)(unsigned* deviceCount) noexcept {
  return count<Nv::nvmlDeviceGetCount_v2>(viewerFor(caller()), deviceCount);
}

DIVVY_HOOK(nvmlDeviceGetHandleByIndex)(unsigned index, nvmlDevice_t* device) noexcept {
  return byIndex<Nv::nvmlDeviceGetHandleByIndex>(viewerFor(caller()), index, device);
}

DIVVY_HOOK(nvmlDeviceGetHandleByIndex_v2)(unsigned index, nvmlDevice_t* device) noexcept {
  return byIndex<Nv::nvmlDeviceGetHandleByIndex_v2>(viewerFor(caller()), index, device);
}

DIVVY_HOOK(nvmlDeviceGetHandleByUUID)(const char* uuid, nvmlDevice_t* device) noexcept {
  return byName<Nv::nvmlDeviceGetHandleByUUID>(viewerFor(caller()), uuid, device);
}

DIVVY_HOOK(nvmlDeviceGetHandleByUUIDV)(const nvmlUUID_t* uuid, nvmlDevice_t* device) noexcept {
  return byName<Nv::nvmlDeviceGetHandleByUUIDV>(viewerFor(caller()), uuid, device);
}

DIVVY_HOOK(nvmlDeviceGetHandleByPciBusId)(const char* pciBusId, nvmlDevice_t* device) noexcept {
  return byName<Nv::nvmlDeviceGetHandleByPciBusId>(viewerFor(caller()), pciBusId, device);
}

DIVVY_HOOK(nvmlDeviceGetHandleByPciBusId_v2)(const char* pciBusId, nvmlDevice_t* device) noexcept {
  return byName<Nv::nvmlDeviceGetHandleByPciBusId_v2>(viewerFor(caller()), pciBusId, device);
}

DIVVY_HOOK(nvmlDeviceGetHandleBySerial)(const char* serial, nvmlDevice_t* device) noexcept {
  return byName<Nv::nvmlDeviceGetHandleBySerial>(viewerFor(caller()), serial, device);
}

DIVVY_HOOK(nvmlDeviceGetIndex)(nvmlDevice_t device, unsigned* index) noexcept {
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || index == nullptr) return driver<Nv::nvmlDeviceGetIndex>(device, index);
  unsigned node_index = 0;
  const nvmlReturn_t result = driver<Nv::nvmlDeviceGetIndex>(device, &node_index);
  if (result != NVML_SUCCESS) return result;
  const Unit* unit = tenant->view().find(device);
  *index = unit == nullptr ? node_index : tenant->view().indexOf(*unit);
  return NVML_SUCCESS;
}

DIVVY_HOOK(nvmlDeviceGetMigDeviceHandleByIndex)
(nvmlDevice_t device, unsigned index, nvmlDevice_t* migDevice) noexcept {
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || migDevice == nullptr) {
    return driver<Nv::nvmlDeviceGetMigDeviceHandleByIndex>(device, index, migDevice);
  }
  const Unit* card = tenant->view().find(device);
  if (card == nullptr || card->uuid[0] != '\0') {
    return driver<Nv::nvmlDeviceGetMigDeviceHandleByIndex>(device, index, migDevice);
  }
  nvmlDevice_t handle = nullptr;
  const nvmlReturn_t result = tenant->view().instanceHandle(*card, index, &handle);
  if (result == NVML_SUCCESS) *migDevice = handle;
  return result;
}

DIVVY_HOOK(nvmlDeviceGetTopologyNearestGpus)
(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned* count,
 nvmlDevice_t* deviceArray) noexcept {
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || count == nullptr || (*count != 0 && deviceArray == nullptr)) {
    return driver<Nv::nvmlDeviceGetTopologyNearestGpus>(device, level, count, deviceArray);
  }
  return neighbours(*tenant, count, deviceArray, [=](unsigned* found, nvmlDevice_t* all) {
    return driver<Nv::nvmlDeviceGetTopologyNearestGpus>(device, level, found, all);
  });
}

DIVVY_HOOK(nvmlSystemGetTopologyGpuSet)
(unsigned cpuNumber, unsigned* count, nvmlDevice_t* deviceArray) noexcept {
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || count == nullptr || (*count != 0 && deviceArray == nullptr)) {
    return driver<Nv::nvmlSystemGetTopologyGpuSet>(cpuNumber, count, deviceArray);
  }
  return neighbours(*tenant, count, deviceArray, [=](unsigned* found, nvmlDevice_t* all) {
    return driver<Nv::nvmlSystemGetTopologyGpuSet>(cpuNumber, found, all);
  });
}

// Handles after a later nvmlInit may differ.
DIVVY_HOOK(nvmlShutdown)() noexcept {
  const nvmlReturn_t result = driver<Nv::nvmlShutdown>();
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant != nullptr && result == NVML_SUCCESS) tenant->view().forgetHandles();
  return result;
}
