#include "nodes/topology.h"

#include <algorithm>

namespace divvy::engine {

Topology::Topology(const Node& node) : same_numa_(node.devices.size()) {
  const std::size_t count = node.devices.size();
  for (unsigned a = 0; a < count; ++a) {
    for (unsigned b = 0; b < count && node.devices[a].numa; ++b) {
      if (node.devices[a].numa == node.devices[b].numa) same_numa_[a] |= only(b);
    }
  }
  for (const Nic& nic : node.nics) {
    if (nearest_.empty()) nearest_ = nic.distances;
    for (std::size_t i = 0; i < count; ++i) nearest_[i] = std::min(nearest_[i], nic.distances[i]);
  }
  if (node.links.empty()) return;
  scores_.resize(count * count);
  sums_.resize(count);
  for (unsigned i = 0; i < count; ++i) direct_.push_back(only(i));
  const auto placeOf = [&](const DeviceUuid& uuid) {
    const auto at = std::find_if(node.devices.begin(), node.devices.end(),
                                 [&](const Device& each) { return each.uuid == uuid; });
    return static_cast<unsigned>(at - node.devices.begin());
  };
  for (const Link& link : node.links) {
    const unsigned a = placeOf(link.a);
    const unsigned b = placeOf(link.b);
    scores_[a * count + b] = scores_[b * count + a] = link.score;
    sums_[a] += link.score;
    sums_[b] += link.score;
    most_score_ = std::max(most_score_, link.score);
    if (!link.direct) continue;
    direct_[a] |= only(b);
    direct_[b] |= only(a);
  }
}

bool hasArrangement(const Node& node) {
  return std::any_of(node.devices.begin(), node.devices.end(),
                     [](const Device& device) { return device.block || device.row; });
}

}  // namespace divvy::engine
