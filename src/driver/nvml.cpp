#include "driver/nvml.h"

#include <algorithm>
#include <array>
#include <optional>

#include "driver/process_source.h"
#include "nvml_api.h"

namespace divvy::driver {
namespace {

constexpr unsigned kTextSize = 96;
// More processes than a device can serve; bounds the growing process lists.
constexpr unsigned kMaxProcesses = 1u << 16;

using detail::code;

// Empty if the driver does not report it.
template <typename Query>
std::vector<nvmlProcessInfo_t> listOf(Query query, nvmlDevice_t device) {
  std::vector<nvmlProcessInfo_t> list(64);
  nvmlReturn_t status = query == nullptr ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INSUFFICIENT_SIZE;
  while (status == NVML_ERROR_INSUFFICIENT_SIZE && list.size() <= kMaxProcesses) {
    auto size = static_cast<unsigned>(list.size());
    status = query(device, &size, list.data());
    list.resize(status == NVML_ERROR_INSUFFICIENT_SIZE
                    ? std::max<std::size_t>(size, list.size()) * 2
                    : size);
  }
  if (status != NVML_SUCCESS) list.clear();
  return list;
}

std::string pciOf(const Nvml::Api& api, nvmlDevice_t device) {
  nvmlPciInfo_t pci{};
  if (api.pci != nullptr) api.pci(device, &pci);
  return pci.busIdLegacy;
}

// Returns "" if the driver does not report it.
std::string uuidOf(const Nvml::Api& api, nvmlDevice_t device) {
  std::array<char, kTextSize> uuid{};
  return api.uuid(device, uuid.data(), kTextSize) == NVML_SUCCESS ? uuid.data() : "";
}

// Returns none if a necessary value is not reported.
std::optional<DeviceInfo> describe(const Nvml::Api& api, unsigned index, nvmlDevice_t device) {
  std::array<char, kTextSize> uuid{};
  std::array<char, kTextSize> name{};
  const Result<nvmlMemory_v2_t> memory = api.memory(device);
  if (!memory || api.uuid(device, uuid.data(), kTextSize) != NVML_SUCCESS) return std::nullopt;
  api.name(device, name.data(), kTextSize);
  return DeviceInfo{index, uuid.data(), name.data(), pciOf(api, device),
                    Bytes{memory->total} - Bytes{memory->reserved}};
}

// Instances may have gaps in their numbers.
void listParts(Nvml::Api& api, unsigned index, nvmlDevice_t card) {
  unsigned most = 0;
  if (api.most_parts == nullptr || api.part_handle == nullptr || api.handle_by_uuid == nullptr ||
      api.most_parts(card, &most) != NVML_SUCCESS)
    return;
  for (unsigned place = 0; place < most; ++place) {
    nvmlDevice_t part = nullptr;
    std::array<char, kTextSize> uuid{};
    if (api.part_handle(card, place, &part) != NVML_SUCCESS ||
        api.uuid(part, uuid.data(), kTextSize) != NVML_SUCCESS)
      continue;
    unsigned id = 0;
    if (api.instance_id != nullptr) api.instance_id(part, &id);
    api.parts.push_back({uuid.data(), index, place, id});
  }
}

}  // namespace

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
  const nvmlReturn_t status = api->init();
  if (status != NVML_SUCCESS) {
    api->shutdown = nullptr;
    return Error{ErrorCode::kUnavailable,
                 "the NVIDIA driver does not start: nvmlInit: " + code(status)};
  }
  return Nvml(std::move(api));
}

const std::string& Nvml::path() const {
  return api_->library.path();
}

void Nvml::setProcessSource(std::shared_ptr<ProcessSource> source) {
  api_->process_source = std::move(source);
}

std::string Nvml::driverVersion() const {
  std::array<char, kTextSize> text{};
  if (api_->driver_version == nullptr ||
      api_->driver_version(text.data(), kTextSize) != NVML_SUCCESS)
    return "";
  return text.data();
}

Result<std::vector<DeviceInfo>> Nvml::devices() const {
  unsigned count = 0;
  const nvmlReturn_t status = api_->count(&count);
  if (status != NVML_SUCCESS)
    return Error{ErrorCode::kUnavailable, "counting devices: " + code(status)};
  api_->cards = count;
  api_->parts.clear();
  std::vector<DeviceInfo> all;
  for (unsigned index = 0; index < count; ++index) {
    const Result<nvmlDevice_t> device = api_->device(index);
    if (!device) continue;  // fallen off the bus; the other devices stay usable
    if (api_->partitioned(*device)) {
      listParts(*api_, index, *device);
    } else if (std::optional<DeviceInfo> info = describe(*api_, index, *device)) {
      all.push_back(std::move(*info));
    }
  }
  for (unsigned at = 0; at < api_->parts.size(); ++at) {
    const Api::Part& part = api_->parts[at];
    const Result<nvmlDevice_t> device = api_->device(count + at);
    std::optional<DeviceInfo> info = device ? describe(*api_, count + at, *device) : std::nullopt;
    if (!info) continue;
    info->part = std::to_string(part.card) + ':' + std::to_string(part.place);
    // Some drivers report the card's name.
    if (info->model.find("MIG") == std::string::npos) info->model += " MIG";
    if (const Result<nvmlDevice_t> card = api_->device(part.card)) info->pci = pciOf(*api_, *card);
    all.push_back(std::move(*info));
  }
  return all;
}

Result<DeviceUse> Nvml::use(unsigned index) const {
  Result<nvmlDevice_t> device = api_->device(index);
  if (!device) return device.error();
  Result<nvmlMemory_v2_t> memory = api_->memory(*device);
  if (!memory) return memory.error();
  DeviceUse use;
  use.used = {memory->used};
  nvmlUtilization_t rates{};
  if (api_->utilization != nullptr && api_->utilization(*device, &rates) == NVML_SUCCESS) {
    use.utilisation = static_cast<int>(std::min(rates.gpu, 100u));
  }
  return use;
}

std::vector<ProcessUse> Nvml::processes(unsigned index) const {
  std::vector<ProcessUse> all;
  const Result<nvmlDevice_t> device = api_->device(index);
  if (!device) return all;
  if (api_->process_source) return api_->process_source->processes(uuidOf(*api_, *device));
  for (const bool graphics : {false, true}) {
    const auto query = graphics ? api_->graphics_processes : api_->processes;
    for (const nvmlProcessInfo_t& info : listOf(query, *device)) {
      const int pid = static_cast<int>(info.pid);
      // If a process computes and draws, both lists have all of its memory.
      const bool known = std::any_of(all.begin(), all.end(),
                                     [pid](const ProcessUse& other) { return other.pid == pid; });
      const bool reported = info.usedGpuMemory != NVML_VALUE_NOT_AVAILABLE;
      if (!known) all.push_back({pid, Bytes{reported ? info.usedGpuMemory : 0}, graphics});
    }
  }
  return all;
}

std::vector<ProcessTime> Nvml::processTimes(unsigned index) const {
  std::vector<ProcessTime> times;
  Result<nvmlDevice_t> device = api_->device(index);
  if (!device) return times;
  if (api_->process_source) return api_->process_source->times(uuidOf(*api_, *device));
  if (api_->process_utilization == nullptr) return times;
  unsigned count = 0;
  api_->process_utilization(*device, nullptr, &count, 0);
  if (count == 0 || count > kMaxProcesses) return times;
  std::vector<nvmlProcessUtilizationSample_t> samples(count);
  if (api_->process_utilization(*device, samples.data(), &count, 0) != NVML_SUCCESS) return times;
  samples.resize(std::min<std::size_t>(count, samples.size()));
  for (const nvmlProcessUtilizationSample_t& sample : samples) {
    times.push_back({static_cast<int>(sample.pid), std::min(sample.smUtil, 100u),
                     static_cast<std::uint64_t>(sample.timeStamp)});
  }
  return times;
}

}  // namespace divvy::driver
