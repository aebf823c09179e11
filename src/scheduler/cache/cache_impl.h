// State of SchedulerCache: nodes, allocations, nominations, unschedulable pods. Private.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <unordered_map>

#include "annotations/share_annotations.h"
#include "cache/core_masks.h"
#include "cache/recorded_uuids.h"
#include "cache/refusal_texts.h"
#include "cache/unknown_node_pods.h"
#include "cache/unschedulable_pods.h"
#include "cache/vendor_plugin_pods.h"
#include "codec/pod_request.h"
#include "engine/engine.h"
#include "quota/resource_quota.h"
#include "runtime/recent_set.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Far more pods than can be removed, or passed on, during one scheduling cycle.
inline constexpr std::size_t kMaxRemembered = 10'000;

// Reason for nodes that the engine does not have.
inline constexpr const char* kNothingRegistered = "no devices are registered";

// Hash for lookups by std::string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

struct CachedNode {
  std::string uid;
  kube::Node said;  // last version of the object
  engine::Node node;
  DeviceMetadataMap devices;
  std::vector<std::string> unread;  // NodeDescription::unread
  NodeInventory inventory = {};
};

// Returns the names of all containers, init containers first.
inline std::vector<std::string> namesOf(const kube::Pod& pod) {
  std::vector<std::string> names;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list) names.push_back(one.name);
  return names;
}

// What a bind writes about the pod of a reservation.
struct ContainerList {
  std::vector<std::string> containers;  // names, init containers first
  std::vector<bool> ends;   // for each init container: true if it ends, so is no sidecar
  kube::Labels for_agents;  // share annotations for agents, at the time of the decision
};

inline ContainerList guestOf(const kube::Pod& pod) {
  ContainerList guest{namesOf(pod), {}, {}};
  // A pod with unreadable annotations has been refused before.
  if (const Result<ShareAnnotations> wishes = ShareAnnotations::of(pod))
    guest.for_agents = wishes->forAgents();
  for (const kube::PodContainer& one : pod.init) guest.ends.push_back(!one.sidecar);
  return guest;
}

struct SchedulerCache::Impl {
  Impl(const vendors::Catalog& known, engine::Config options)
      : catalog(known), config(options), engine(options), quotas(known) {}

  void release(const std::string& uid) {
    holders.erase(uid);
    homeless.erase(uid);
    binding.erase(uid);
    uncertain.erase(uid);
    asked.erase(uid);
    guests.erase(uid);
    masks.give(uid);
    quotas.give(uid);
    const engine::RequestId id(uid);
    const engine::Allocation* held = engine.find(id);
    if (held == nullptr) return;
    leave(held->placement.node.text, uid);
    engine.release(id);
    waiting.open();
  }

  void leave(const std::string& node, const std::string& uid) {
    const auto there = on.find(node);
    if (there == on.end()) return;
    there->second.erase(uid);
    if (there->second.empty()) on.erase(there);
  }

  // Records what a bound pod holds, even if that exceeds what is free. If the cache lacks the node,
  // the pod becomes an unknown-node pod.
  Result<void> hold(const kube::Pod& pod, const engine::Allocation& held) {
    count(pod, held.placement);
    const Result<void> adopted = engine.adopt(held);
    if (adopted) {
      on[held.placement.node.text].insert(pod.meta.uid);
      masks.take(pod.meta.uid, held.placement);
    }
    if (adopted || adopted.error().code() != ErrorCode::kNotFound) return adopted;
    homeless.set(pod.meta.uid, UnknownNodePod{held, pod});
    return {};
  }

  // Gives the unknown-node pods of a node that was just set what they hold there.
  void takeHome(const std::string& node) {
    for (const std::string& uid : homeless.on(node)) {
      const UnknownNodePod& one = homeless.at(uid);
      engine::Allocation held = one.held;
      if (one.said) {
        const auto again = heldBy(*one.said, catalog, devicesOf(node));
        if (again && *again) held = **again;
        count(*one.said, held.placement);
      }
      if (!engine.adopt(held)) continue;
      on[node].insert(uid);
      masks.take(uid, held.placement);
      homeless.erase(uid);
    }
  }

  const DeviceMetadataMap* devicesOf(const std::string& node) const {
    const auto found = nodes.find(node);
    return found == nodes.end() ? nullptr : &found->second.devices;
  }

  // Begins each decision for a pod: reads its request and releases its earlier reservation. None:
  // it requests no devices. Errors: as of SchedulerCache::filterAndReserve.
  Result<std::optional<engine::Request>> begin(const kube::Pod& pod) {
    const std::string& uid = pod.meta.uid;
    Result<std::optional<engine::Request>> request =
        scheduler::requestOf(pod, catalog, config.devices);
    if (!request) return Error{ErrorCode::kUsage, request.error().message()};
    if (!*request) {
      passed.add(uid);
      return request;
    }
    if (gone.has(uid)) return Error{ErrorCode::kNotFound, "the pod is gone"};
    const engine::Allocation* old = engine.find(engine::RequestId(uid));
    const bool settled = old != nullptr && !old->expires && !uncertain.contains(uid);
    if (settled || homeless.contains(uid))
      return Error{ErrorCode::kUnavailable, "the pod is bound to a node, or about to be"};
    release(uid);
    guests[uid] = guestOf(pod);
    holders.insert_or_assign(uid, PodRef{pod.meta.space, pod.meta.name});
    return request;
  }

  // Decides among the nodes in `names`. None: the request fits none of them now.
  Result<std::optional<engine::Placement>> decide(const engine::Request& request,
                                                  std::span<const std::string_view> names) const {
    // Usually `names` has all nodes. If it has the best of all nodes, that is also its best.
    const Result<engine::Decision> best = engine.decide(request);
    if (!best || !best->placement) return placementOf(best);
    const std::string_view node = best->placement->node.text;
    if (std::find(names.begin(), names.end(), node) != names.end()) return best->placement;
    std::vector<engine::NodeName> known;
    for (const std::string_view name : names)
      if (nodes.contains(name)) known.emplace_back(std::string(name));
    if (known.empty()) return std::optional<engine::Placement>();
    return placementOf(engine.decideAmong(request, known));
  }

  Result<std::optional<engine::Placement>> decideOn(const engine::Request& request,
                                                    std::string_view node) const {
    if (!nodes.contains(node)) return std::optional<engine::Placement>();
    const std::array<engine::NodeName, 1> only{engine::NodeName(std::string(node))};
    return placementOf(engine.decideAmong(request, only));
  }

  static Result<std::optional<engine::Placement>> placementOf(
      const Result<engine::Decision>& decision) {
    if (!decision) return decision.error();
    return decision->placement;
  }

  // Reserves `placement` until `expires`, and counts it for the quota.
  Result<void> reserve(const engine::Request& request, const engine::Placement& placement,
                       engine::Instant expires) {
    const Result<engine::Allocation> reserved = engine.reserve(request, placement, expires);
    if (!reserved) return reserved.error();
    on[placement.node.text].insert(request.id.text);
    quotas.take(request.id.text, request.user.text, amountsOf(placement, nullptr));
    return {};
  }

  // ---- devices of vendor plugins: cache/cache_vendor_plugin.cpp ----
  // Counts the devices that the vendor plugin of the node gave to a bound pod, if it serves any.
  void takeOwn(const std::string& uid);
  // Returns the reason of a refusal caused by a driver upgrade on the node; none: another
  // cause.
  std::optional<Reason> upgradeOn(std::string_view node, const engine::CompactRefusal& brief) const;

  // ---- quotas: cache/cache_quota.cpp ----
  struct QuotaDecision {
    std::optional<engine::Placement> placement;
    std::string beyond;  // why the quota of the namespace refuses it, where it would fit
  };
  using Names = std::span<const std::string_view>;
  // Decides as decide(), within the quota of the namespace. `names`: null: all nodes.
  Result<QuotaDecision> afford(const engine::Request& request, const Names* names);
  void count(const kube::Pod& pod, const engine::Placement& placement) {
    quotas.take(pod.meta.uid, pod.meta.space, amountsOf(placement, &pod));
  }
  Amounts amountsOf(const engine::Placement& placement, const kube::Pod* pod) const {
    return heldAmounts(placement, devicesOf(placement.node.text), pod, catalog);
  }
  std::optional<std::string> beyond(const engine::Request& request,
                                    const engine::Placement& placement) const {
    return quotas.limits(request.user.text)
               ? quotas.refusal(request.user.text, request.id.text, amountsOf(placement, nullptr))
               : std::nullopt;
  }
  // Counts the allocations of a gang, in the order of its members. Returns why the quota of the
  // namespace refuses one; none: it refuses none.
  std::optional<std::string> countAll(const engine::Gang& gang,
                                      const std::vector<engine::Allocation>& given) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const engine::Request& member = gang.members[i];
      if (const auto why = beyond(member, given[i].placement)) return refusalText(*why);
      quotas.take(member.id.text, member.user.text, amountsOf(given[i].placement, nullptr));
    }
    return std::nullopt;
  }
  // Returns true if the quota refuses the gang even after the pods in `ending` (UIDs) are gone.
  bool beyondQuota(const engine::Gang& gang, const std::vector<engine::Allocation>& given,
                   const std::vector<std::string>& ending) const;  // cache/cache_eviction_plan.cpp
  // Returns groups of node names. A pod holds equally much on all nodes of a group.
  const std::vector<std::vector<std::string>>& alikeNodes();

  // Adds to `choice` the nodes in `names` that fit, and why each other node does not.
  Result<void> explain(const engine::Request& request, std::span<const std::string_view> names,
                       FilterResult* choice) const {
    const Result<engine::CompactRefusals> briefs = engine.briefs(request, names);
    if (!briefs) return briefs.error();
    const auto guest = guests.find(request.id.text);
    RefusalTextCache texts(
        guest == guests.end() ? std::vector<std::string>() : guest->second.containers,
        request.shape);
    const std::vector<Reason> reasons = texts.reasonsOf(briefs->different);
    const Reason none = kNothingRegistered;
    choice->why.reserve(names.size());
    for (std::size_t at = 0; at < names.size(); ++at) {
      const std::string_view name = names[at];
      const std::uint32_t place = briefs->of[at];
      const bool refused = place < briefs->different.size();
      if (place == engine::CompactRefusals::kNone) {
        choice->fitting.emplace_back(name);
      } else if (const auto fault = unreadable.find(name);
                 !unreadable.empty() && fault != unreadable.end()) {
        choice->why.emplace(name, fault->second);
      } else if (!refused) {
        choice->why.emplace(name, none);
      } else {
        const engine::CompactRefusal& brief = briefs->different[place];
        const std::optional<Reason> upgrade = upgradeOn(name, brief);
        (RefusalTextCache::never(brief) ? choice->never : choice->why)
            .emplace(name, upgrade ? *upgrade : reasons[place]);
      }
    }
    return {};
  }

  // Sets the node in the engine: as described, or cordoned if a pod there is unreadable.
  void showNode(const std::string& name) {
    const auto known = nodes.find(name);
    if (known == nodes.end()) return;
    engine::Node node = known->second.node;
    const auto closed = unreadable_pods.find(name);
    if (closed != unreadable_pods.end()) {
      node.cordoned = true;
      unreadable[name] = closed->second.begin()->second;
    }
    const Result<void> set = engine.setNode(node);
    (void)set;  // the engine accepted it before
  }
  // Closes the pod's node for new shares until reopenFor(). `why`: what cannot be read.
  void closeFor(const kube::Pod& pod, const std::string& why) {
    reopenFor(pod.meta.uid, pod.node);
    unreadable_pods[pod.node][pod.meta.uid] =
        "closed for new shares: what a pod there holds cannot be read (" + why + ')';
    showNode(pod.node);
  }
  // Opens the nodes that are closed for a pod, except `but`; empty: all of them.
  void reopenFor(const std::string& uid, const std::string& but) {
    for (auto at = unreadable_pods.begin(); at != unreadable_pods.end();) {
      const std::string name = at->first;
      if (name == but || at->second.erase(uid) == 0 || !at->second.empty()) {
        ++at;
        continue;
      }
      at = unreadable_pods.erase(at);
      unreadable.erase(name);
      showNode(name);
      waiting.open();
    }
  }

  // Restores the pod's nomination in the engine unless the pod has an allocation there.
  void reclaim(const std::string& uid) {
    const auto kept = claims.find(uid);
    if (kept == claims.end() || engine.find(engine::RequestId(uid)) != nullptr) return;
    const Result<void> adopted = engine.adopt(kept->second);
    if (adopted) on[kept->second.placement.node.text].insert(uid);
  }

  // Returns true if the pod has a nomination and nothing else.
  bool claimOnly(const std::string& uid) const {
    const auto kept = claims.find(uid);
    const engine::Allocation* held = engine.find(engine::RequestId(uid));
    return kept != claims.end() && held != nullptr && *held == kept->second;
  }
  // As SchedulerCache::plan, without restoring nominations after an error:
  // cache/cache_reservations.cpp.
  Result<std::vector<Reservation>> plan(std::span<const kube::Pod> pods,
                                        const std::vector<std::string>& without,
                                        const std::vector<std::string>& not_on,
                                        engine::Instant expires);
  std::vector<ModelUsage> useOf(const engine::Placement& placement) const;

  // Releases the nomination in the engine, so that the pod can be placed there. It stays in
  // `claims`.
  void giveBack(const std::string& uid) {
    leave(claims.at(uid).placement.node.text, uid);
    engine.release(engine::RequestId(uid));
  }

  std::vector<engine::Allocation> heldOn(const engine::NodeName& node) const {
    std::vector<engine::Allocation> held;
    const auto there = on.find(node.text);
    if (there != on.end())
      for (const std::string& uid : there->second)
        held.push_back(*engine.find(engine::RequestId(uid)));
    for (const std::string& uid : homeless.on(node.text)) held.push_back(homeless.at(uid).held);
    return held;
  }

  const vendors::Catalog& catalog;
  const engine::Config config;
  engine::Engine engine;
  ResourceQuotaTracker quotas;
  VendorPluginPods own;
  RecordedUuids recorded;
  std::vector<std::vector<std::string>> alike;  // cache of alikeNodes(); empty: to be computed
  std::unordered_map<std::string, CachedNode, TextHash, std::equal_to<>> nodes;
  std::unordered_map<std::string, std::set<std::string>>
      on;  // by node: UIDs of pods with an allocation there
  // By node: why its annotations cannot be read, or why it is closed for new shares.
  std::map<std::string, std::string, std::less<>> unreadable;
  // By node, then UID: why the pod's assignment cannot be read. What such a pod holds is unknown,
  // so its node gets no new shares until the pod can be read or is gone.
  std::map<std::string, std::map<std::string, std::string>> unreadable_pods;
  UnknownNodePods homeless;
  std::map<std::string, ContainerList> guests;  // by UID: pods in a decision, or reserved
  CoreMasks masks;
  // By UID: requests of pods that fitting() answered for, until reserve() chooses a node.
  std::map<std::string, engine::Request> asked;
  // By UID: nominations, until their `expires`.
  std::map<std::string, engine::Allocation> claims;
  // UIDs: pods in a bind; pods with an uncertain bind outcome.
  std::set<std::string> binding, uncertain;
  std::set<std::string> changing;  // UIDs of pods in a resize, which hold more than their shares
  std::unordered_map<std::string, PodRef> holders;  // by UID: pods that may hold devices
  UnschedulablePods waiting;
  // UIDs. `gone`: pods that were removed; kube-scheduler may still filter them, and a reservation
  // for them would stay until it expires. `passed`: pods that request no devices but name a device
  // resource.
  RecentSet gone{kMaxRemembered}, passed{kMaxRemembered};
};

}  // namespace divvy::scheduler
