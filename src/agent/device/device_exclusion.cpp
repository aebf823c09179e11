#include "agent/device_exclusion.h"

#include <algorithm>
#include <string_view>

namespace divvy::agent {
namespace {

// All UUIDs begin with it, so it identifies no device.
constexpr std::string_view kCommon = "GPU-";

bool fits(const std::string& name, const DeviceName& device) {
  return name.size() > kCommon.size() && device.uuid.starts_with(name);
}

}  // namespace

std::vector<bool> excludedAmong(const DeviceExclusions& told,
                                const std::vector<DeviceName>& devices) {
  std::vector<bool> excluded;
  for (const DeviceName& device : devices) {
    excluded.push_back(std::find(told.indices.begin(), told.indices.end(), device.index) !=
                           told.indices.end() ||
                       std::any_of(told.uuids.begin(), told.uuids.end(),
                                   [&](const std::string& name) { return fits(name, device); }));
  }
  return excluded;
}

std::vector<std::string> namesOfNone(const DeviceExclusions& told,
                                     const std::vector<DeviceName>& devices) {
  std::vector<std::string> none;
  for (const unsigned index : told.indices) {
    if (std::none_of(devices.begin(), devices.end(),
                     [&](const DeviceName& device) { return device.index == index; }))
      none.push_back("index " + std::to_string(index));
  }
  for (const std::string& name : told.uuids) {
    if (std::none_of(devices.begin(), devices.end(),
                     [&](const DeviceName& device) { return fits(name, device); }))
      none.push_back(name);
  }
  return none;
}

}  // namespace divvy::agent
