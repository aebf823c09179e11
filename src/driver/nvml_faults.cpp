// Faults of devices: the driver's events. Source: NVML API reference (names and numbers).
#include <array>
#include <map>

#include "driver/nvml.h"
#include "nvml_api.h"

namespace divvy::driver {
namespace {

constexpr unsigned long long kDoubleBitEcc = 0x2;
constexpr unsigned long long kXid = 0x8;
constexpr std::uint64_t kXidOfDoubleBitEcc = 48;
constexpr unsigned kTextSize = 96;
// For one look: a device with continuous faults is read again soon.
constexpr int kMaxEvents = 64;

std::string uuidOf(const Nvml::Api& api, nvmlDevice_t device) {
  std::array<char, kTextSize> uuid{};
  return api.uuid(device, uuid.data(), kTextSize) == NVML_SUCCESS ? uuid.data() : "";
}

// Devices that an event of this card concerns. On a partitioned card it is the instance that the
// event names, or all of them.
std::vector<unsigned> meantBy(const Nvml::Api& api, unsigned card, unsigned instance) {
  std::vector<unsigned> of_card, named;
  for (unsigned at = 0; at < api.parts.size(); ++at) {
    if (api.parts[at].card != card) continue;
    of_card.push_back(api.cards + at);
    if (api.parts[at].id == instance) named.push_back(api.cards + at);
  }
  if (of_card.empty()) return {card};
  return named.empty() ? of_card : named;
}

bool follow(Nvml::Api& api) {
  if (api.events != nullptr) return true;
  const bool supported = api.create_events != nullptr && api.register_events != nullptr &&
                         api.supported_events != nullptr && api.wait_events != nullptr;
  nvmlEventSet_t made = nullptr;
  if (!supported || api.create_events(&made) != NVML_SUCCESS) return false;
  api.events = made;
  unsigned count = 0;
  if (api.count(&count) != NVML_SUCCESS) return true;
  for (unsigned index = 0; index < count; ++index) {
    const Result<nvmlDevice_t> device = api.device(index);
    unsigned long long types = 0;
    if (!device) continue;
    api.followed[*device] = index;
    if (api.supported_events(*device, &types) == NVML_SUCCESS)
      api.register_events(*device, types & (kXid | kDoubleBitEcc), api.events);
  }
  return true;
}

}  // namespace

bool Nvml::answers(unsigned index) const {
  const Result<nvmlDevice_t> device = api_->device(index);
  return device && api_->memory(*device);
}

std::vector<DeviceFault> Nvml::faults() const {
  std::vector<DeviceFault> all;
  if (!follow(*api_)) return all;
  std::map<std::string, unsigned> indexes;
  unsigned count = 0;
  for (int i = 0; i < kMaxEvents; ++i) {
    nvmlEventData_t event{};
    if (api_->wait_events(api_->events, &event, 0) != NVML_SUCCESS) break;
    if (indexes.empty() && api_->count(&count) == NVML_SUCCESS)
      for (unsigned index = 0; index < count; ++index)
        if (const Result<nvmlDevice_t> device = api_->device(index))
          indexes.emplace(uuidOf(*api_, *device), index);
    const std::uint64_t xid = event.eventType == kXid ? event.eventData : kXidOfDoubleBitEcc;
    // A device that is lost can only be identified by its handle.
    const auto followed = api_->followed.find(event.device);
    const auto known = indexes.find(uuidOf(*api_, event.device));
    if (followed == api_->followed.end() && known == indexes.end()) continue;
    const unsigned card = followed == api_->followed.end() ? known->second : followed->second;
    for (const unsigned index : meantBy(*api_, card, event.gpuInstanceId))
      all.push_back({index, xid});
  }
  return all;
}

}  // namespace divvy::driver
