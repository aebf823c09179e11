#include "bodies/change_target.h"

#include <algorithm>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

// The most memory that the share uses on one of its devices.
void addUse(const ListRow& share, ClusterChange* change) {
  for (const boost::json::value& part : share.at("devices").get_array()) {
    const boost::json::value* used = part.get_object().if_contains("used_bytes");
    boost::system::error_code fault;
    if (used == nullptr || !used->is_number()) continue;
    const auto bytes = used->to_number<std::uint64_t>(fault);
    if (!fault) change->used_bytes = std::max(change->used_bytes.value_or(0), bytes);
  }
}

// A pod has rows of its containers' shares, or one while it waits.
bool hasPod(const ConsoleView& view, const std::string& name) {
  const auto share = view.shares.lower_bound(name + '/');
  return view.waiting.contains(name) ||
         (share != view.shares.end() && share->first.starts_with(name + '/'));
}

}  // namespace

bool findTarget(const ConsoleView& view, ClusterChange* change) {
  const std::string name = nameOf(change->target);
  switch (change->kind) {
    case ClusterChangeKind::kResize:
    case ClusterChangeKind::kPriority: {
      const auto share = view.shares.find(name);
      if (share == view.shares.end()) return false;
      addUse(*share->second, change);
      return true;
    }
    case ClusterChangeKind::kCordon:
    case ClusterChangeKind::kUncordon:
      return change->target.device.empty() ? view.nodes.contains(name)
                                           : view.devices.contains(name);
    case ClusterChangeKind::kEvict:
    case ClusterChangeKind::kNotice:
      return hasPod(view, name);
    case ClusterChangeKind::kQueue:
      return view.queues.contains(name);
  }
  return false;
}

std::string nameOf(const ClusterChangeTarget& target) {
  if (!target.queue.empty()) return target.queue;
  if (!target.node.empty())
    return target.device.empty() ? target.node : target.node + '/' + target.device;
  const std::string pod = target.namespace_name + '/' + target.pod;
  return target.container.empty() ? pod : pod + '/' + target.container;
}

}  // namespace divvy::console
