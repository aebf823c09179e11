// What SchedulerCache keeps: nodes, who holds what there, who waits. Private.
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

// Far more than can be removed, or passed on, while one scheduling cycle is under way.
inline constexpr std::size_t kMaxRemembered = 10'000;

// Of nodes that no decision can be about.
inline constexpr const char* kNothingRegistered = "no devices are registered";

// Of names that are only looked at.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

struct CachedNode {
  std::string uid;
  kube::Node said;  // as it was told last
  engine::Node node;
  DeviceMetadataMap devices;
  std::vector<std::string> unread;  // NodeDescription::unread
  NodeInventory inventory = {};
};

// Init containers first.
inline std::vector<std::string> namesOf(const kube::Pod& pod) {
  std::vector<std::string> names;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list) names.push_back(one.name);
  return names;
}

// Who a reservation is for, as far as it is written when it is bound.
struct ContainerList {
  std::vector<std::string> containers;
  std::vector<bool> ends;   // of init containers: those that are no sidecars
  kube::Labels for_agents;  // its words when it was decided where it goes
};

inline ContainerList guestOf(const kube::Pod& pod) {
  ContainerList guest{namesOf(pod), {}, {}};
  // A pod whose words cannot be read has been refused by then.
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

  // It is so, whatever else was booked.
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

  // What every choice begins with: what was reserved for it before is given back. None: it asks for
  // no devices.
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

  // Among these; none: it fits none of them now.
  Result<std::optional<engine::Placement>> decide(const engine::Request& request,
                                                  std::span<const std::string_view> names) const {
    // The best of all is the best of those among whom it is; mostly all are named.
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

  // Until then.
  Result<void> reserve(const engine::Request& request, const engine::Placement& placement,
                       engine::Instant expires) {
    const Result<engine::Allocation> reserved = engine.reserve(request, placement, expires);
    if (!reserved) return reserved.error();
    on[placement.node.text].insert(request.id.text);
    quotas.take(request.id.text, request.user.text, amountsOf(placement, nullptr));
    return {};
  }

  // ---- devices of vendors' own plugins: cache/cache_vendor_plugin.cpp ----
  // It is bound, and has devices of its node's plugin, if that has any: it has them from now on.
  void takeOwn(const std::string& uid);
  // Why nobody new gets the node's devices, where it is because their driver is being changed.
  std::optional<Reason> upgradeOn(std::string_view node, const engine::CompactRefusal& brief) const;

  // ---- quotas: cache/cache_quota.cpp ----
  struct QuotaDecision {
    std::optional<engine::Placement> placement;
    std::string beyond;  // it fits, but only with more than its namespace may hold
  };
  using Names = std::span<const std::string_view>;
  // Among these, or all; as decide, and within what its namespace may hold.
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
  // Counts what a gang was given, member by member; why its namespace may not hold so much.
  std::optional<std::string> countAll(const engine::Gang& gang,
                                      const std::vector<engine::Allocation>& given) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const engine::Request& member = gang.members[i];
      if (const auto why = beyond(member, given[i].placement)) return refusalText(*why);
      quotas.take(member.id.text, member.user.text, amountsOf(given[i].placement, nullptr));
    }
    return std::nullopt;
  }
  bool beyondQuota(const engine::Gang& gang, const std::vector<engine::Allocation>& given,
                   const std::vector<std::string>& ending) const;  // cache/cache_eviction_plan.cpp
  const std::vector<std::vector<std::string>>& alikeNodes();

  // Which of these would do, and why the others do not.
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

  // Puts the node into the engine as it is described, or closed for new shares.
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
    (void)set;  // as it was accepted before
  }
  void closeFor(const kube::Pod& pod, const std::string& why) {
    reopenFor(pod.meta.uid, pod.node);
    unreadable_pods[pod.node][pod.meta.uid] =
        "closed for new shares: what a pod there holds cannot be read (" + why + ')';
    showNode(pod.node);
  }
  // `but`: where it is still; empty: nowhere.
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

  // What victims leave is its again, where it was not given anything.
  void reclaim(const std::string& uid) {
    const auto kept = claims.find(uid);
    if (kept == claims.end() || engine.find(engine::RequestId(uid)) != nullptr) return;
    const Result<void> adopted = engine.adopt(kept->second);
    if (adopted) on[kept->second.placement.node.text].insert(uid);
  }

  // Nothing but what is kept for it.
  bool claimOnly(const std::string& uid) const {
    const auto kept = claims.find(uid);
    const engine::Allocation* held = engine.find(engine::RequestId(uid));
    return kept != claims.end() && held != nullptr && *held == kept->second;
  }
  // Places for all of these or none: cache/cache_reservations.cpp.
  Result<std::vector<Reservation>> plan(std::span<const kube::Pod> pods,
                                        const std::vector<std::string>& without,
                                        const std::vector<std::string>& not_on,
                                        engine::Instant expires);
  std::vector<ModelUsage> useOf(const engine::Placement& placement) const;

  // Of what is kept for it, so that it can be given there.
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
  std::vector<std::vector<std::string>> alike;  // names of nodes with the same devices; empty: anew
  std::unordered_map<std::string, CachedNode, TextHash, std::equal_to<>> nodes;
  std::unordered_map<std::string, std::set<std::string>>
      on;  // by node: UIDs of those who hold there
  // By node: what is wrong with what it says.
  std::map<std::string, std::string, std::less<>> unreadable;
  // Nodes with pods whose assignment cannot be read, and why, by UID: what such a pod holds is not
  // known, so its node gets nothing new until it can be read, or the pod is gone.
  std::map<std::string, std::map<std::string, std::string>> unreadable_pods;
  UnknownNodePods homeless;
  std::map<std::string, ContainerList> guests;  // by UID: of those who are chosen for
  CoreMasks masks;
  // By UID: asks of those who are told all that would do, until one is chosen.
  std::map<std::string, engine::Request> asked;
  // By UID: what is kept for those for whom others end, until `expires`.
  std::map<std::string, engine::Allocation> claims;
  // UIDs: bound at this moment; and those of whom it is not known whether they were.
  std::set<std::string> binding, uncertain;
  std::set<std::string> changing;  // UIDs: more is kept for them than their shares say
  std::unordered_map<std::string, PodRef> holders;  // by UID: of who may hold something
  UnschedulablePods waiting;
  // UIDs of pods that were removed: kube-scheduler may ask for one that we know to be gone, and
  // would never come back with it. And of pods that have no devices, but name one of our resources.
  RecentSet gone{kMaxRemembered}, passed{kMaxRemembered};
};

}  // namespace divvy::scheduler
