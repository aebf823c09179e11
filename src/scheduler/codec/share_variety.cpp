#include "codec/share_variety.h"

#include <set>

namespace divvy::scheduler {

std::optional<std::string> tooManyDifferentShares(const engine::Shape& shape, std::size_t most) {
  std::set<engine::DeviceRequest> different;
  const auto add = [&](const engine::Container& container) {
    if (container.devices.count > 0) different.insert(container.devices);
    for (const engine::DeviceRequest& other : container.others)
      if (other.count > 0) different.insert(other);
  };
  for (const engine::Container& one : shape.init)
    if (one.sidecar) add(one);
  for (const engine::Container& one : shape.containers) add(one);
  if (most == 0 || different.size() <= most) return std::nullopt;
  return "the pod's containers request " + std::to_string(different.size()) +
         " different shares; accepted: at most " + std::to_string(most) +
         " (the scheduler's --most-different-shares)";
}

}  // namespace divvy::scheduler
