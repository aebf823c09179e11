#include "cache/cluster_updates.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "annotations/pending_resize.h"
#include "codec/pod_request.h"

namespace divvy::scheduler {
namespace {

// Compares the data that the cache reads of a node.
bool sameDescription(const kube::Node& a, const kube::Node& b) {
  return a.meta.uid == b.meta.uid && a.meta.annotations == b.meta.annotations &&
         a.meta.labels == b.meta.labels && a.unschedulable == b.unschedulable &&
         a.capacity == b.capacity && a.allocatable == b.allocatable;
}

// Compares shares as annotations have them.
bool sameShares(const engine::Placement& a, const engine::Placement& b) {
  const auto same = [](const engine::Share& x, const engine::Share& y) {
    return x.uuid == y.uuid && x.memory.count / mib(1).count == y.memory.count / mib(1).count &&
           x.compute == y.compute && x.part == y.part && (x.part.empty() || x.start == y.start);
  };
  return a.node == b.node && a.containers.size() == b.containers.size() &&
         std::equal(a.containers.begin(), a.containers.end(), b.containers.begin(),
                    [&](const auto& x, const auto& y) {
                      return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
                    });
}

// True if `now` takes more of a device kind than `before`.
bool takesMore(const Amounts& now, const Amounts& before) {
  return std::any_of(now.begin(), now.end(), [&](const auto& one) {
    const auto was = before.find(one.first);
    return was == before.end() || one.second.memory > was->second.memory ||
           one.second.milli > was->second.milli;
  });
}

}  // namespace

Result<void> ClusterUpdates::setNode(const kube::Node& node) {
  const std::string& name = node.meta.name;
  const CachedNode* known = state_.nodes.find(name);
  if (known != nullptr && sameDescription(known->said, node)) return {};
  const Result<void> taken = takeNode(node);
  if (taken) recordInventory(name);
  return taken;
}

Result<void> ClusterUpdates::takeNode(const kube::Node& node) {
  const std::string& name = node.meta.name;
  Result<NodeDescription> described = describe(node, state_.catalog, recorded_.elsewhereThan(name));
  const Result<void> set =
      described ? state_.engine.setNode(described->node) : Result<void>(described.error());
  if (!set) {
    state_.nodes.setFault(name, set.error().message());
    if (state_.nodes.find(name) == nullptr) return set;
    state_.nodes.cordon(name, node);
    const Result<void> kept = state_.engine.setNode(state_.nodes.find(name)->node);
    (void)kept;  // the engine accepted it before
    return set;
  }
  state_.nodes.clearFault(name);
  state_.nodes.set(name,
                   {.uid = node.meta.uid,
                    .said = node,
                    .node = std::move(described->node),
                    .devices = std::move(described->devices),
                    .unread = std::move(described->unread),
                    .inventory = {std::move(described->registered), std::move(described->inventory),
                                  std::move(described->surplus)}});
  if (state_.nodes.isClosed(name)) showNode(name);
  settleUnknown(name);
  for (const std::string& pod : state_.plugin_pods.on(name)) countForPlugin(pod);
  state_.unschedulable.open();
  return {};
}

// Describes again the nodes that register a UUID which this node's inventory gained or lost.
void ClusterUpdates::recordInventory(const std::string& name) {
  const CachedNode* known = state_.nodes.find(name);
  const std::vector<std::string> concerned =
      known == nullptr ? recorded_.remove(name) : recorded_.set(name, known->inventory);
  for (const std::string& other : concerned) {
    const CachedNode* there = state_.nodes.find(other);
    if (there == nullptr) continue;
    const Result<void> set = takeNode(kube::Node(there->said));
    (void)set;  // it was accepted before
  }
}

// Sets the node in the engine: as described, or cordoned if a pod there is unreadable.
void ClusterUpdates::showNode(const std::string& name) {
  if (state_.nodes.find(name) == nullptr) return;
  const Result<void> set = state_.engine.setNode(state_.nodes.shown(name));
  (void)set;  // the engine accepted it before
}

// Gives the unknown-node pods of a node that was just set their devices there.
void ClusterUpdates::settleUnknown(const std::string& node) {
  for (const std::string& uid : state_.pods.unknownOn(node)) {
    const PodEntry& entry = *state_.pods.find(uid);
    engine::Allocation held = entry.unknown->held;
    PodChange change{.to = onKnownNode(entry.state), .allocation = &held};
    if (const std::optional<kube::Pod>& said = entry.unknown->said) {
      const auto again = heldBy(*said, state_.catalog, state_.nodes.devicesOf(node));
      if (again && *again) held = **again;
      change.charge = chargeOf(*said, held.placement);
    }
    const Result<void> settled = state_.pods.transit(uid, std::move(change));
    (void)settled;  // the engine has the node, and nothing for the pod
  }
}

void ClusterUpdates::removeNode(const std::string& uid, const std::string& name) {
  const CachedNode* known = state_.nodes.find(name);
  // A node of that name was added since.
  if (known != nullptr && known->uid != uid) return;
  state_.nodes.erase(name);
  for (const engine::Allocation& one : state_.engine.removeNode(engine::NodeName(name))) {
    const std::string& pod = one.id.text;
    // Pods of a vendor plugin are counted again once the node is back.
    const bool ends = one.expires || state_.plugin_pods.find(pod) != nullptr;
    const PodState to = ends ? PodState::kPending : onUnknownNode(state_.pods.stateOf(pod));
    const Result<void> moved = state_.pods.transit(pod, {.to = to, .allocation = &one});
    (void)moved;  // the table has both
  }
  recordInventory(name);
}

Result<void> ClusterUpdates::setPod(const kube::Pod& pod) {
  const Result<std::optional<engine::Allocation>> held =
      heldBy(pod, state_.catalog, state_.nodes.devicesOf(pod.node));
  if (!held && !pod.node.empty() && !pod.ended()) {
    closeFor(pod, held.error().message());
    return held.error();
  }
  if (state_.nodes.closedCount() > 0) reopenFor(pod.meta.uid, "");
  if (!held) return held.error();
  if (*held) return setAssigned(pod, **held);
  // A reservation for a pod that is not bound yet stays. A bind writes node and devices at once:
  // another scheduler bound a pod that is bound without devices.
  if (pod.ended() || !pod.node.empty()) setUnassigned(pod);
  return {};
}

void ClusterUpdates::setUnassigned(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  state_.pods.clearNomination(uid);
  state_.unschedulable.leave(uid);
  if (state_.plugin_pods.see(pod, state_.catalog)) {
    countForPlugin(uid);
  } else {
    state_.release(uid);
  }
}

Result<void> ClusterUpdates::setAssigned(const kube::Pod& pod, const engine::Allocation& held) {
  const std::string& uid = pod.meta.uid;
  state_.plugin_pods.forget(uid);
  state_.pods.clearNomination(uid);
  state_.unschedulable.leave(uid);
  const PodEntry* known = state_.pods.find(uid);
  const bool resizing = pendingChange(pod).has_value();
  // The shares of a pod in a resize do not cover its whole allocation.
  const bool by_shares = known != nullptr && isPlaced(known->state) && !resizing &&
                         !known->details.resizing &&
                         sameShares(state_.pods.allocationOf(uid)->placement, held.placement);
  if (!by_shares && known != nullptr) state_.release(uid);
  PodDetails& details = state_.pods.details(uid);
  details.pod = PodRef{pod.meta.namespace_name, pod.meta.name};
  details.resizing = resizing;
  details.containers.reset();
  if (by_shares) {
    PodChange change{.to = PodState::kBound, .allocation = &held};
    if (!isCharged(known->state))
      change.charge = chargeOf(pod, state_.pods.allocationOf(uid)->placement);
    return state_.pods.transit(uid, std::move(change));
  }
  const bool there = state_.nodes.find(held.placement.node.text) != nullptr;
  return state_.pods.transit(uid, {.to = there ? PodState::kBound : PodState::kBoundUnknownNode,
                                   .allocation = &held,
                                   .charge = chargeOf(pod, held.placement),
                                   .said = &pod});
}

void ClusterUpdates::removePod(const std::string& uid) {
  reopenFor(uid, "");
  state_.unschedulable.leave(uid);
  state_.plugin_pods.forget(uid);
  state_.removed.add(uid);
  state_.pods.clearNomination(uid);
  if (state_.pods.find(uid) == nullptr) return;
  state_.pods.details(uid).resizing = false;
  state_.release(uid);
}

Result<void> ClusterUpdates::admitChange(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  const engine::Allocation* has = state_.pods.allocationOf(uid);
  if (has == nullptr || has->expires)
    return Error{ErrorCode::kUnavailable, "the pod holds nothing yet, or its node is not known"};
  const Result<std::optional<engine::Allocation>> wanted =
      heldBy(pod, state_.catalog, state_.nodes.devicesOf(pod.node));
  if (!wanted) return wanted.error();
  if (!*wanted) return Error{ErrorCode::kUnavailable, "the pod holds nothing any more"};
  const engine::Placement& placement = (*wanted)->placement;
  QuotaCharge charge = chargeOf(pod, placement);
  // A resize that only gives back is admitted, however little the quota has left.
  const bool more = takesMore(charge.amounts, state_.amountsOf(has->placement, &pod));
  const auto beyond =
      more ? state_.quotas.refusal(charge.namespace_name, uid, charge.amounts) : std::nullopt;
  if (beyond) return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  return state_.pods.resize(uid, placement, std::move(charge));
}

// Closes the pod's node for new shares until reopenFor(). `why`: the unreadable part.
void ClusterUpdates::closeFor(const kube::Pod& pod, const std::string& why) {
  reopenFor(pod.meta.uid, pod.node);
  state_.nodes.close(pod.node, pod.meta.uid, why);
  showNode(pod.node);
}

// Opens the nodes that are closed for a pod, except `but`; empty: all of them.
void ClusterUpdates::reopenFor(const std::string& uid, const std::string& but) {
  for (const std::string& name : state_.nodes.open(uid, but)) {
    showNode(name);
    state_.unschedulable.open();
  }
}

// Counts the devices that the vendor plugin of the node gave to a bound pod, if it serves any.
void ClusterUpdates::countForPlugin(const std::string& uid) {
  const VendorPluginPods::Has* has = state_.plugin_pods.find(uid);
  if (has == nullptr) return;
  const CachedNode* known = state_.nodes.find(has->node);
  const engine::Allocation* old = state_.pods.allocationOf(uid);
  if (old != nullptr && known != nullptr &&
      state_.plugin_pods.same(uid, old->placement, known->devices)) {
    // The answer to a bind in progress is still to come.
    const PodState state = state_.pods.stateOf(uid);
    if (state == PodState::kAssumed) return;
    PodChange change{.to = PodState::kCounted};
    if (!isCharged(state))
      change.charge = QuotaCharge{has->namespace_name, state_.amountsOf(old->placement, nullptr)};
    const Result<void> counted = state_.pods.transit(uid, std::move(change));
    (void)counted;  // the table has it for each placed state
    return;
  }
  state_.release(uid);
  if (known == nullptr) return;
  const engine::NodeName node(has->node);
  const Result<std::vector<engine::DeviceUsed>> used = state_.engine.used(node);
  const auto taken = [&](const engine::DeviceUuid& uuid) {
    return used && std::any_of(used->begin(), used->end(), [&](const engine::DeviceUsed& one) {
             return one.uuid == uuid && one.tenants > 0;
           });
  };
  std::optional<engine::Placement> placement =
      state_.plugin_pods.placementOf(uid, known->node, known->devices, taken);
  if (!placement) return;
  const Result<engine::PoolName> pool = state_.engine.poolOf(node, placement->charges.front().uuid);
  if (pool) placement->pool = *pool;
  const engine::Allocation held{engine::RequestId(uid), *placement, std::nullopt};
  const Result<void> counted = state_.pods.transit(
      uid, {.to = PodState::kCounted,
            .allocation = &held,
            .charge = QuotaCharge{has->namespace_name, state_.amountsOf(*placement, nullptr)}});
  if (counted) state_.pods.details(uid).pod = PodRef{has->namespace_name, has->name};
}

QuotaCharge ClusterUpdates::chargeOf(const kube::Pod& pod,
                                     const engine::Placement& placement) const {
  return {pod.meta.namespace_name, state_.amountsOf(placement, &pod)};
}

}  // namespace divvy::scheduler
