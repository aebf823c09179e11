#include "deviceplugin/capacity_check.h"

#include <algorithm>
#include <cstddef>

#include "pods/pod_allocation.h"

namespace divvy::agent {

std::string capacityShortfall(const Decision& decision, const std::vector<Device>& devices,
                              const std::vector<DeviceTerms>& terms,
                              const std::vector<HeldCapacity>& holdings) {
  for (const PlacedShare& placed : decision.shares) {
    const auto at = std::find_if(devices.begin(), devices.end(),
                                 [&](const Device& one) { return one.info.index == placed.index; });
    if (at == devices.end()) continue;
    Bytes sum = placed.reserve;
    Bytes rounded = mib(1);
    const HeldCapacity* most = nullptr;
    for (const HeldCapacity& one : holdings) {
      if (one.uuid != at->info.uuid) continue;
      sum = sum + one.reserve;
      rounded = rounded + mib(1);
      // A tenant that should have ended is named first.
      const bool graver = most == nullptr || (one.over && !most->over) ||
                          (one.over == most->over && one.reserve > most->reserve);
      if (graver) most = &one;
    }
    const auto place = static_cast<std::size_t>(at - devices.begin());
    const Bytes offered = offeredBy(*at, terms.at(place).overcommit_permille);
    if (sum <= offered + rounded) continue;
    std::string why =
        "too little memory for " + formatBytes(placed.reserve) + " on " + at->info.uuid + " yet";
    if (most == nullptr) return why;
    why += ": tenant " + most->tenant + " has " + formatBytes(most->reserve);
    return why + (most->over ? ": its pod has ended and its processes still run" : "");
  }
  return {};
}

std::set<std::string> fullDevices(const std::vector<Device>& devices,
                                  const std::vector<DeviceTerms>& terms,
                                  const DeviceAllocations& allocations, unsigned per_device) {
  std::set<std::string> full;
  for (std::size_t at = 0; at < devices.size(); ++at) {
    const Device& device = devices[at];
    const Bytes offered = offeredBy(device, terms.at(at).overcommit_permille);
    const auto found = allocations.find(device.info.uuid);
    const DeviceAllocation held = found == allocations.end() ? DeviceAllocation{} : found->second;
    if (held.memory + mib(1) > offered || held.tenants >= per_device) full.insert(device.info.uuid);
  }
  return full;
}

}  // namespace divvy::agent
