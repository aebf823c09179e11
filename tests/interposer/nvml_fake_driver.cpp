#include "nvml_fake_driver.h"

#include <string.h>

#include "interposer/nvml_hooks.h"

// In place of the generated table.
extern "C" void* divvy_nvml_real[static_cast<unsigned>(divvy::abi::Nv::kCount)];
void* divvy_nvml_real[static_cast<unsigned>(divvy::abi::Nv::kCount)] = {};

namespace divvy::interposer::test {

using abi::Nv;

FakeNode& fakeNode() {
  static FakeNode node;
  return node;
}

std::vector<FakeDevice*> FakeNode::cards() const {
  std::vector<FakeDevice*> found;
  for (FakeDevice* device : devices) {
    if (device->parent == nullptr) found.push_back(device);
  }
  return found;
}

namespace {

// The device behind a handle, or why there is none.
nvmlReturn_t deviceOf(nvmlDevice_t handle, FakeDevice** device) {
  if (!fakeNode().initialised) return NVML_ERROR_UNINITIALIZED;
  for (FakeDevice* known : fakeNode().devices) {
    if (known->handle() != handle) continue;
    *device = known;
    return known->state;
  }
  return NVML_ERROR_INVALID_ARGUMENT;
}

template <typename Match>
nvmlReturn_t lookUp(nvmlDevice_t* out, Match match) {
  if (!fakeNode().initialised) return NVML_ERROR_UNINITIALIZED;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (FakeDevice* device : fakeNode().devices) {
    if (!match(*device)) continue;
    if (device->state == NVML_SUCCESS) *out = device->handle();
    return device->state;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t count(unsigned* out) {
  if (!fakeNode().initialised) return NVML_ERROR_UNINITIALIZED;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = static_cast<unsigned>(fakeNode().cards().size());
  return NVML_SUCCESS;
}

nvmlReturn_t byIndex(unsigned index, nvmlDevice_t* out) {
  const nvmlReturn_t result =
      lookUp(out, [=](const FakeDevice& d) { return d.parent == nullptr && d.index == index; });
  return result == NVML_ERROR_NOT_FOUND ? NVML_ERROR_INVALID_ARGUMENT : result;
}

nvmlReturn_t byUuid(const char* uuid, nvmlDevice_t* out) {
  ++fakeNode().lookups;
  if (fakeNode().during_lookup) fakeNode().during_lookup();
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return lookUp(out, [=](const FakeDevice& d) { return d.uuid == uuid; });
}

nvmlReturn_t byUuidV(const nvmlUUID_t* uuid, nvmlDevice_t* out) {
  if (uuid == nullptr || uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return byUuid(uuid->value.str, out);
}

nvmlReturn_t byPci(const char* pci, nvmlDevice_t* out) {
  return lookUp(out, [=](const FakeDevice& d) { return d.parent == nullptr && d.pci == pci; });
}

nvmlReturn_t bySerial(const char* serial, nvmlDevice_t* out) {
  return lookUp(out,
                [=](const FakeDevice& d) { return d.parent == nullptr && d.serial == serial; });
}

nvmlReturn_t indexOf(nvmlDevice_t handle, unsigned* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result == NVML_SUCCESS) *out = device->index;
  return result;
}

nvmlReturn_t parentOf(nvmlDevice_t handle, nvmlDevice_t* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  if (device->parent == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = device->parent->handle();
  return NVML_SUCCESS;
}

nvmlReturn_t instanceByIndex(nvmlDevice_t handle, unsigned index, nvmlDevice_t* out) {
  return lookUp(out, [=](const FakeDevice& d) {
    return d.parent != nullptr && d.parent->handle() == handle && d.index == index;
  });
}

nvmlReturn_t gpuInstance(nvmlDevice_t handle, unsigned* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result == NVML_SUCCESS) *out = device->gpu_instance;
  return result;
}

nvmlReturn_t computeInstance(nvmlDevice_t handle, unsigned* out) {
  FakeDevice* device;
  *out = 0;
  return deviceOf(handle, &device);
}

nvmlReturn_t nearest(nvmlDevice_t handle, nvmlGpuTopologyLevel_t, unsigned* n, nvmlDevice_t* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  unsigned found = 0;
  for (FakeDevice* card : fakeNode().cards()) {
    if (card == device) continue;
    if (*n != 0 && found < *n) out[found] = card->handle();
    ++found;
  }
  if (*n == 0) *n = found;
  return NVML_SUCCESS;
}

nvmlReturn_t memory(nvmlDevice_t handle, nvmlMemory_t* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = device->memory;
  return NVML_SUCCESS;
}

nvmlReturn_t memory2(nvmlDevice_t handle, nvmlMemory_v2_t* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (out->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  out->total = device->memory.total;
  out->free = device->memory.free;
  out->reserved = 1ull << 30;
  out->used = device->memory.used - out->reserved;
  return NVML_SUCCESS;
}

nvmlReturn_t attributes(nvmlDevice_t handle, nvmlDeviceAttributes_t* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  if (device->parent == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = {};
  out->multiprocessorCount = 14;
  out->memorySizeMB = device->memory.total >> 20;
  return NVML_SUCCESS;
}

void put(nvmlProcessInfo_v1_t& row, const FakeProcess& process) {
  row = {process.pid, process.bytes};
}
void put(nvmlProcessInfo_v2_t& row, const FakeProcess& process) {
  row = {process.pid, process.bytes, 0xFFFFFFFFu, 0xFFFFFFFFu};
}

// NVML's convention for lists of running processes.
template <std::vector<FakeProcess> FakeDevice::*kList, typename Info>
nvmlReturn_t running(nvmlDevice_t handle, unsigned* n, Info* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  if (n == nullptr || (*n != 0 && out == nullptr)) return NVML_ERROR_INVALID_ARGUMENT;
  const std::vector<FakeProcess>& list = device->*kList;
  const unsigned room = *n;
  *n = static_cast<unsigned>(list.size());
  if (room < *n) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < *n; ++i) put(out[i], list[i]);
  return NVML_SUCCESS;
}

nvmlReturn_t details(nvmlDevice_t handle, nvmlProcessDetailList_t* list) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  if (list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (list->mode > NVML_PROCESS_MODE_ALL) return NVML_ERROR_INVALID_ARGUMENT;
  list->numProcArrayEntries = static_cast<unsigned>(device->compute.size());
  return device->compute.empty() ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t utilization(nvmlDevice_t handle, nvmlProcessUtilizationSample_t* out, unsigned* n,
                         unsigned long long last_seen) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  const unsigned room = *n;
  *n = static_cast<unsigned>(device->busy.size());
  if (out == nullptr) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (*n == 0) return NVML_ERROR_NOT_FOUND;
  if (room < *n) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < *n; ++i) out[i] = {device->busy[i], last_seen + i + 1, 40, 20, 0, 0};
  return NVML_SUCCESS;
}

nvmlReturn_t utilizationInfo(nvmlDevice_t handle, nvmlProcessesUtilizationInfo_t* info) {
  if (info->version != nvmlProcessesUtilizationInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  const auto& busy = device->busy;
  if (busy.empty()) return NVML_ERROR_NOT_FOUND;
  const unsigned room = info->processSamplesCount;
  info->processSamplesCount = static_cast<unsigned>(busy.size());
  if (info->procUtilArray == nullptr || room < busy.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < busy.size(); ++i) {
    info->procUtilArray[i] = {info->lastSeenTimeStamp + i + 1, busy[i], 40, 20, 0, 0, 0, 0};
  }
  return NVML_SUCCESS;
}

nvmlReturn_t accountedPids(nvmlDevice_t handle, unsigned* n, unsigned* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  const unsigned room = *n;
  *n = static_cast<unsigned>(device->accounted.size());
  if (out == nullptr || room < *n) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < *n; ++i) out[i] = device->accounted[i];
  return NVML_SUCCESS;
}

nvmlReturn_t stats(nvmlDevice_t handle, unsigned pid, nvmlAccountingStats_t* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  for (const unsigned known : device->accounted) {
    if (known != pid) continue;
    *out = {};
    out->maxMemoryUsage = pid * 1000ull;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t stats2(nvmlDevice_t handle, nvmlAccountingStats_v2_t* out) {
  nvmlAccountingStats_t plain;
  const nvmlReturn_t result = stats(handle, out->pid, &plain);
  if (result == NVML_SUCCESS) out->maxMemoryUsage = plain.maxMemoryUsage;
  return result;
}

nvmlReturn_t encoders(nvmlDevice_t handle, unsigned* n, nvmlEncoderSessionInfo_t* out) {
  FakeDevice* device;
  const nvmlReturn_t result = deviceOf(handle, &device);
  if (result != NVML_SUCCESS) return result;
  const unsigned room = *n;
  *n = static_cast<unsigned>(device->encoding.size());
  if (room == 0) return NVML_SUCCESS;
  if (room < *n) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < *n; ++i) {
    out[i] = {};
    out[i].sessionId = i;
    out[i].pid = device->encoding[i];
  }
  return NVML_SUCCESS;
}

nvmlReturn_t shutDown() {
  return fakeNode().initialised ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

template <Nv kId>
void set(typename abi::NvFn<kId>::type* entry) {
  divvy_nvml_real[static_cast<unsigned>(kId)] = reinterpret_cast<void*>(entry);
}

bool fillTable() {
  for (void*& entry : divvy_nvml_real) {
    entry = reinterpret_cast<void*>(+[] { return NVML_ERROR_FUNCTION_NOT_FOUND; });
  }
  set<Nv::nvmlShutdown>(shutDown);
  set<Nv::nvmlDeviceGetCount>(count);
  set<Nv::nvmlDeviceGetCount_v2>(count);
  set<Nv::nvmlDeviceGetHandleByIndex>(byIndex);
  set<Nv::nvmlDeviceGetHandleByIndex_v2>(byIndex);
  set<Nv::nvmlDeviceGetHandleByUUID>(byUuid);
  set<Nv::nvmlDeviceGetHandleByUUIDV>(byUuidV);
  set<Nv::nvmlDeviceGetHandleByPciBusId>(byPci);
  set<Nv::nvmlDeviceGetHandleByPciBusId_v2>(byPci);
  set<Nv::nvmlDeviceGetHandleBySerial>(bySerial);
  set<Nv::nvmlDeviceGetIndex>(indexOf);
  set<Nv::nvmlDeviceGetDeviceHandleFromMigDeviceHandle>(parentOf);
  set<Nv::nvmlDeviceGetMigDeviceHandleByIndex>(instanceByIndex);
  set<Nv::nvmlDeviceGetGpuInstanceId>(gpuInstance);
  set<Nv::nvmlDeviceGetComputeInstanceId>(computeInstance);
  set<Nv::nvmlDeviceGetTopologyNearestGpus>(nearest);
  set<Nv::nvmlDeviceGetMemoryInfo>(memory);
  set<Nv::nvmlDeviceGetMemoryInfo_v2>(memory2);
  set<Nv::nvmlDeviceGetAttributes_v2>(attributes);
  set<Nv::nvmlDeviceGetComputeRunningProcesses>(running<&FakeDevice::compute>);
  set<Nv::nvmlDeviceGetComputeRunningProcesses_v2>(running<&FakeDevice::compute>);
  set<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(running<&FakeDevice::compute>);
  set<Nv::nvmlDeviceGetGraphicsRunningProcesses>(running<&FakeDevice::graphics>);
  set<Nv::nvmlDeviceGetGraphicsRunningProcesses_v3>(running<&FakeDevice::graphics>);
  set<Nv::nvmlDeviceGetMPSComputeRunningProcesses>(running<&FakeDevice::mps>);
  set<Nv::nvmlDeviceGetMPSComputeRunningProcesses_v3>(running<&FakeDevice::mps>);
  set<Nv::nvmlDeviceGetRunningProcessDetailList>(details);
  set<Nv::nvmlDeviceGetProcessUtilization>(utilization);
  set<Nv::nvmlDeviceGetProcessesUtilizationInfo>(utilizationInfo);
  set<Nv::nvmlDeviceGetAccountingPids>(accountedPids);
  set<Nv::nvmlDeviceGetAccountingStats>(stats);
  set<Nv::nvmlDeviceGetAccountingStats_v2>(stats2);
  set<Nv::nvmlDeviceGetEncoderSessions>(encoders);
  return true;
}

const bool table_filled = fillTable();

}  // namespace

void addCards(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    auto* card = new FakeDevice;  // lives as long as the test program, like a card
    card->index = static_cast<unsigned>(fakeNode().cards().size());
    const std::string digit = std::to_string(card->index);
    card->uuid = "GPU-" + digit + "0000000-0000-4000-8000-000000000000";
    card->pci = "00000000:" + digit + "A:00.0";
    card->serial = "132000" + digit;
    fakeNode().devices.push_back(card);
  }
}

FakeDevice& addInstance(FakeDevice& card, const std::string& uuid, unsigned gpu_instance) {
  auto* instance = new FakeDevice;
  for (const FakeDevice* other : fakeNode().devices) {
    instance->index += other->parent == &card ? 1 : 0;
  }
  instance->uuid = uuid;
  instance->pci = card.pci;
  instance->parent = &card;
  instance->gpu_instance = gpu_instance;
  fakeNode().devices.push_back(instance);
  return *instance;
}

ledger::DeviceSpec shareOf(const FakeDevice& device, Bytes ceiling) {
  ledger::DeviceSpec spec;
  spec.uuid = device.uuid;
  spec.pci_bus_id = device.pci.substr(4);  // the short form of the same address
  spec.guarantee = spec.ceiling = ceiling;
  spec.physical = {device.memory.total};
  return spec;
}

}  // namespace divvy::interposer::test
