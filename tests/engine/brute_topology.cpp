#include <algorithm>
#include <set>

#include "brute.h"

namespace divvy::engine::brute {
namespace {

// None: through the host.
const Link* linkOf(const Node& node, std::size_t a, std::size_t b) {
  for (const Link& link : node.links) {
    const DeviceUuid& one = node.devices[a].uuid;
    const DeviceUuid& other = node.devices[b].uuid;
    if ((link.a == one && link.b == other) || (link.a == other && link.b == one)) return &link;
  }
  return nullptr;
}

}  // namespace

Together together(const Node& node, const DevicePolicy& policy, unsigned set) {
  Together result;
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    if ((set >> i & 1) != 0) members.push_back(i);

  std::set<long> numas;
  for (const std::size_t i : members)
    numas.insert(node.devices[i].numa ? static_cast<long>(*node.devices[i].numa) : -1);
  const bool one_numa = numas.size() == 1 && *numas.begin() >= 0;

  bool all_direct = true;
  for (const std::size_t a : members) {
    for (const std::size_t b : members) {
      if (a >= b) continue;
      const Link* link = linkOf(node, a, b);
      all_direct = all_direct && link != nullptr && link->direct;
      result.links += link == nullptr ? 0 : link->score;
    }
  }
  if (members.size() == 1) {
    for (std::size_t b = 0; b < node.devices.size(); ++b) {
      const Link* link = b == members[0] ? nullptr : linkOf(node, members[0], b);
      result.links -= link == nullptr ? 0 : link->score;
    }
  }

  const auto named = std::find_if(node.nics.begin(), node.nics.end(),
                                  [&](const Nic& nic) { return nic.name == policy.nic; });
  for (const std::size_t i : members) {
    std::int64_t nearest = node.nics.empty() ? 0 : INT64_MAX;
    for (const Nic& nic : node.nics) nearest = std::min<std::int64_t>(nearest, nic.distances[i]);
    result.distance += named == node.nics.end() ? nearest : named->distances[i];
  }

  if (policy.numa != Preference::kNone && one_numa) ++result.wishes;
  if (policy.links != Preference::kNone && all_direct) ++result.wishes;
  if (!policy.nic.empty() && named == node.nics.end()) result.fault = NodeWhy::kNic;
  if (policy.links == Preference::kRequired && !all_direct) result.fault = NodeWhy::kLinks;
  if (policy.numa == Preference::kRequired && !one_numa) result.fault = NodeWhy::kNuma;
  return result;
}

}  // namespace divvy::engine::brute
