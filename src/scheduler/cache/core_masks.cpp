#include "cache/core_masks.h"

#include <utility>

namespace divvy::scheduler {
namespace {

constexpr std::uint32_t kWhole = 1000;

std::uint32_t maskOf(const engine::Share& share) {
  return share.size == 0 ? 0 : ((1u << share.size) - 1) << share.start;
}

}  // namespace

void CoreMasks::take(const std::string& pod, const engine::Placement& placement) {
  bool first = true;
  for (const auto& container : placement.containers) {
    for (const engine::Share& share : container) {
      // Of parts they are slices, and the engine's business.
      if (share.size == 0 || !share.part.empty()) continue;
      if (std::exchange(first, false)) give(pod);
      std::uint32_t& mask = taken_[share.uuid.text][pod];
      if (mask == 0) devices_[pod].push_back(share.uuid.text);
      mask |= maskOf(share);
    }
  }
}

void CoreMasks::give(const std::string& pod) {
  const auto found = devices_.find(pod);
  if (found == devices_.end()) return;
  for (const std::string& device : found->second) {
    const auto at = taken_.find(device);
    at->second.erase(pod);
    if (at->second.empty()) taken_.erase(at);
  }
  devices_.erase(found);
}

std::uint32_t CoreMasks::others(const std::string& device) const {
  std::uint32_t mask = 0;
  const auto found = taken_.find(device);
  if (found == taken_.end()) return mask;
  for (const auto& [pod, own] : found->second) mask |= own;
  return mask;
}

Result<void> CoreMasks::assignCores(const std::string& pod, const std::vector<bool>& ends,
                                    const DeviceMetadataMap& devices,
                                    engine::Placement* placement) {
  give(pod);
  std::map<std::string, std::uint32_t> there;  // of containers that go on
  for (std::size_t at = 0; at < placement->containers.size(); ++at) {
    std::map<std::string, std::uint32_t> then = there;
    for (engine::Share& share : placement->containers[at]) {
      const auto known = devices.find(share.uuid.text);
      if (known == devices.end() || known->second.kind->wire.pod.cores != vendors::CoreForm::kMask)
        continue;
      const std::uint32_t cores = known->second.kind->cores.per_card;
      const auto wanted = static_cast<std::uint32_t>(share.compute.milli) * cores / kWhole;
      std::uint32_t& mine =
          at < ends.size() && ends[at] ? then[share.uuid.text] : there[share.uuid.text];
      const std::uint32_t taken = others(share.uuid.text) | mine;
      share.size = 0;
      for (std::uint32_t start = 0; start + wanted <= cores && share.size == 0; ++start) {
        const std::uint32_t mask = ((1u << wanted) - 1) << start;
        if ((taken & mask) != 0) continue;
        share.start = start;
        share.size = wanted;
        mine |= mask;
      }
      if (share.size == 0)
        return Error{ErrorCode::kNoRoom, "device " + share.uuid.text + ": no " +
                                             std::to_string(wanted) + " cores beside each other"};
    }
  }
  take(pod, *placement);
  return {};
}

}  // namespace divvy::scheduler
