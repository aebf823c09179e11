#include "driver/nvml.h"

#include <algorithm>
#include <array>

#include "driver/library.h"
#include "nvml_api.h"

namespace divvy::driver {
namespace {

constexpr unsigned kTextSize = 96;
// More processes than one card can serve; bounds the grow-and-retry of the process lists.
constexpr unsigned kMaxProcesses = 1u << 16;

std::string code(Return status) {
  return "NVML error " + std::to_string(status);
}

}  // namespace

struct Nvml::Api {
  Library library;
  Return (*init)();
  Return (*shutdown)();
  Return (*driver_version)(char*, unsigned);
  Return (*count)(unsigned*);
  Return (*handle)(unsigned, Device*);
  Return (*uuid)(Device, char*, unsigned);
  Return (*name)(Device, char*, unsigned);
  Return (*pci)(Device, PciInfo*);
  Return (*memory_v1)(Device, MemoryV1*);
  Return (*memory_v2)(Device, MemoryV2*);
  Return (*utilization)(Device, Utilization*);
  Return (*processes)(Device, unsigned*, ProcessInfo*);
  Return (*process_utilization)(Device, ProcessSample*, unsigned*, unsigned long long);

  explicit Api(Library opened) : library(std::move(opened)) {
    init = library.find<Return()>("nvmlInit_v2");
    shutdown = library.find<Return()>("nvmlShutdown");
    driver_version = library.find<Return(char*, unsigned)>("nvmlSystemGetDriverVersion");
    count = library.find<Return(unsigned*)>("nvmlDeviceGetCount_v2");
    handle = library.find<Return(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
    uuid = library.find<Return(Device, char*, unsigned)>("nvmlDeviceGetUUID");
    name = library.find<Return(Device, char*, unsigned)>("nvmlDeviceGetName");
    pci = library.find<Return(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3");
    memory_v1 = library.find<Return(Device, MemoryV1*)>("nvmlDeviceGetMemoryInfo");
    memory_v2 = library.find<Return(Device, MemoryV2*)>("nvmlDeviceGetMemoryInfo_v2");
    utilization = library.find<Return(Device, Utilization*)>("nvmlDeviceGetUtilizationRates");
    processes = library.find<Return(Device, unsigned*, ProcessInfo*)>(
        "nvmlDeviceGetComputeRunningProcesses_v3");
    if (processes == nullptr) {
      processes = library.find<Return(Device, unsigned*, ProcessInfo*)>(
          "nvmlDeviceGetComputeRunningProcesses_v2");
    }
    process_utilization =
        library.find<Return(Device, ProcessSample*, unsigned*, unsigned long long)>(
            "nvmlDeviceGetProcessUtilization");
  }

  // What no use can do without; everything else degrades.
  const char* missing() const {
    if (init == nullptr) return "nvmlInit_v2";
    if (count == nullptr) return "nvmlDeviceGetCount_v2";
    if (handle == nullptr) return "nvmlDeviceGetHandleByIndex_v2";
    if (uuid == nullptr) return "nvmlDeviceGetUUID";
    if (name == nullptr) return "nvmlDeviceGetName";
    if (memory_v1 == nullptr) return "nvmlDeviceGetMemoryInfo";
    return nullptr;
  }

  Result<Device> device(unsigned index) const {
    Device found = nullptr;
    const Return status = handle(index, &found);
    if (status != kSuccess) {
      return Error{ErrorCode::kUnavailable,
                   "device " + std::to_string(index) + ": " + code(status)};
    }
    return found;
  }

  // v1's total includes what the driver keeps for itself; v2, where there, tells it apart.
  Result<MemoryV2> memory(Device device) const {
    MemoryV2 v2{};
    v2.version = kMemoryV2;
    if (memory_v2 != nullptr && memory_v2(device, &v2) == kSuccess) return v2;
    MemoryV1 v1{};
    const Return status = memory_v1(device, &v1);
    if (status != kSuccess) return Error{ErrorCode::kUnavailable, "memory: " + code(status)};
    return MemoryV2{kMemoryV2, v1.total, 0, v1.free, v1.used};
  }
};

Nvml::Nvml(std::unique_ptr<Api> api) : api_(std::move(api)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;

Nvml::~Nvml() {
  if (api_ != nullptr && api_->shutdown != nullptr) api_->shutdown();
}

Result<Nvml> Nvml::open(const std::string& path) {
  Result<Library> library = Library::open(path);
  if (!library) return std::move(library).error().context("no NVIDIA driver found");
  auto api = std::make_unique<Api>(std::move(*library));
  if (const char* symbol = api->missing()) {
    return Error{ErrorCode::kUnsupported,
                 api->library.path() + " lacks " + symbol + "; drivers from 450 on are accepted"};
  }
  const Return status = api->init();
  if (status != kSuccess) {
    api->shutdown = nullptr;
    return Error{ErrorCode::kUnavailable,
                 "the NVIDIA driver does not start: nvmlInit: " + code(status)};
  }
  return Nvml(std::move(api));
}

const std::string& Nvml::path() const {
  return api_->library.path();
}

std::string Nvml::driverVersion() const {
  std::array<char, kTextSize> text{};
  if (api_->driver_version == nullptr || api_->driver_version(text.data(), kTextSize) != kSuccess)
    return "";
  return text.data();
}

Result<std::vector<DeviceInfo>> Nvml::devices() const {
  unsigned count = 0;
  const Return status = api_->count(&count);
  if (status != kSuccess)
    return Error{ErrorCode::kUnavailable, "counting devices: " + code(status)};
  std::vector<DeviceInfo> all;
  for (unsigned index = 0; index < count; ++index) {
    Result<Device> device = api_->device(index);
    if (!device) continue;  // fallen off the bus: the others remain usable
    std::array<char, kTextSize> uuid{};
    std::array<char, kTextSize> name{};
    Result<MemoryV2> memory = api_->memory(*device);
    if (!memory || api_->uuid(*device, uuid.data(), kTextSize) != kSuccess) continue;
    api_->name(*device, name.data(), kTextSize);
    PciInfo pci{};
    if (api_->pci != nullptr) api_->pci(*device, &pci);
    all.push_back(
        {index, uuid.data(), name.data(), pci.id, Bytes{memory->total} - Bytes{memory->reserved}});
  }
  return all;
}

Result<DeviceUse> Nvml::use(unsigned index) const {
  Result<Device> device = api_->device(index);
  if (!device) return device.error();
  Result<MemoryV2> memory = api_->memory(*device);
  if (!memory) return memory.error();
  DeviceUse use;
  use.used = {memory->used};
  Utilization rates{};
  if (api_->utilization != nullptr && api_->utilization(*device, &rates) == kSuccess) {
    use.utilisation = static_cast<int>(std::min(rates.gpu, 100u));
  }
  if (api_->processes == nullptr) return use;
  std::vector<ProcessInfo> list(64);
  Return status = kInsufficientSize;
  while (status == kInsufficientSize && list.size() <= kMaxProcesses) {
    auto size = static_cast<unsigned>(list.size());
    status = api_->processes(*device, &size, list.data());
    list.resize(status == kInsufficientSize ? std::max<std::size_t>(size, list.size()) * 2 : size);
  }
  if (status != kSuccess) return use;
  for (const ProcessInfo& info : list) {
    const std::uint64_t bytes = info.used_memory == kNotAvailable ? 0 : info.used_memory;
    use.processes.push_back({static_cast<int>(info.pid), Bytes{bytes}});
  }
  return use;
}

std::vector<ProcessTime> Nvml::processTimes(unsigned index) const {
  std::vector<ProcessTime> times;
  Result<Device> device = api_->device(index);
  if (!device || api_->process_utilization == nullptr) return times;
  unsigned count = 0;
  api_->process_utilization(*device, nullptr, &count, 0);
  if (count == 0 || count > kMaxProcesses) return times;
  std::vector<ProcessSample> samples(count);
  if (api_->process_utilization(*device, samples.data(), &count, 0) != kSuccess) return times;
  samples.resize(std::min<std::size_t>(count, samples.size()));
  for (const ProcessSample& sample : samples) {
    times.push_back({static_cast<int>(sample.pid), std::min(sample.sm, 100u)});
  }
  return times;
}

}  // namespace divvy::driver
