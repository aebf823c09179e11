#include "scheduler/cache.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_set>
#include <utility>

#include "annotations/assignment.h"
#include "annotations/pending_resize.h"
#include "cache/cache_impl.h"
#include "cache/what_if.h"
#include "kube/assignment_text.h"
#include "kube/device_list.h"

namespace divvy::scheduler {
namespace {

// Whether a node says anything else that matters here.
bool sameWords(const kube::Node& a, const kube::Node& b) {
  return a.meta.uid == b.meta.uid && a.meta.annotations == b.meta.annotations &&
         a.meta.labels == b.meta.labels && a.unschedulable == b.unschedulable &&
         a.capacity == b.capacity && a.allocatable == b.allocatable;
}

// In annotations there is no more of a share than this.
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

// Those that fit from 10 for the best down to 1 for the worst, by how many are better; the others,
// which are 0, stay so.
std::vector<unsigned> spread(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMax = 10;
  std::set<std::uint32_t> ordered(ranks.begin(), ranks.end());
  ordered.erase(0);
  const std::vector<std::uint32_t> distinct(ordered.begin(), ordered.end());
  std::vector<unsigned> scores;
  scores.reserve(ranks.size());
  for (const std::uint32_t rank : ranks) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), rank) - distinct.begin();
    const auto better = distinct.size() - static_cast<std::size_t>(at) - 1;
    scores.push_back(rank == 0 ? 0
                               : static_cast<unsigned>(
                                     kMax - better * (kMax - 1) /
                                                std::max<std::size_t>(distinct.size() - 1, 1)));
  }
  return scores;
}

}  // namespace

SchedulerCache::SchedulerCache(const vendors::Catalog& catalog, engine::Config config)
    : impl_(std::make_unique<Impl>(catalog, config)) {}
SchedulerCache::~SchedulerCache() = default;

Result<void> SchedulerCache::setPools(std::vector<engine::Pool> pools) {
  const auto set = impl_->engine.setPools(std::move(pools));
  if (!set) return set.error();
  impl_->waiting.open();
  return {};
}

std::vector<std::string> SchedulerCache::unreadOf(const std::string& node) const {
  const auto known = impl_->nodes.find(node);
  return known == impl_->nodes.end() ? std::vector<std::string>() : known->second.unread;
}

Result<void> SchedulerCache::setNode(const kube::Node& node) {
  const std::string& name = node.meta.name;
  const auto known = impl_->nodes.find(name);
  if (known != impl_->nodes.end() && sameWords(known->second.said, node)) return {};
  const Result<void> taken = takeNode(node);
  if (taken) recordInventory(name);
  return taken;
}

Result<void> SchedulerCache::takeNode(const kube::Node& node) {
  const std::string& name = node.meta.name;
  const auto known = impl_->nodes.find(name);
  Result<NodeDescription> described =
      describe(node, impl_->catalog, impl_->recorded.elsewhereThan(name));
  const Result<void> set =
      described ? impl_->engine.setNode(described->node) : Result<void>(described.error());
  if (!set) {
    impl_->unreadable[name] = set.error().message();
    if (known == impl_->nodes.end()) return set;
    known->second.said = node;
    known->second.node.cordoned = true;
    const Result<void> kept = impl_->engine.setNode(known->second.node);
    (void)kept;  // as it was accepted before
    return set;
  }
  impl_->unreadable.erase(name);
  impl_->nodes[name] = {node.meta.uid,
                        node,
                        std::move(described->node),
                        std::move(described->devices),
                        std::move(described->unread),
                        {std::move(described->registered), std::move(described->inventory),
                         std::move(described->surplus)}};
  if (impl_->unreadable_pods.contains(name)) impl_->showNode(name);
  impl_->alike.clear();
  impl_->takeHome(name);
  for (const std::string& pod : impl_->own.on(name)) impl_->takeOwn(pod);
  impl_->waiting.open();
  return {};
}

void SchedulerCache::removeNode(const std::string& uid, const std::string& name) {
  const auto known = impl_->nodes.find(name);
  // One of that name has come since.
  if (known != impl_->nodes.end() && known->second.uid != uid) return;
  impl_->nodes.erase(name);
  impl_->unreadable.erase(name);
  impl_->on.erase(name);
  impl_->alike.clear();
  for (engine::Allocation& one : impl_->engine.removeNode(engine::NodeName(name))) {
    if (one.expires) impl_->quotas.give(one.id.text);
    if (one.expires) continue;
    const std::string pod = one.id.text;
    impl_->masks.give(pod);
    // Once the node is there again it is counted anew.
    if (impl_->own.find(pod) != nullptr) impl_->quotas.give(pod);
    if (impl_->own.find(pod) != nullptr) continue;
    impl_->homeless.set(pod, UnknownNodePod{std::move(one), {}});
  }
  recordInventory(name);
}

Result<void> SchedulerCache::setPod(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  Result<std::optional<engine::Allocation>> held =
      heldBy(pod, impl_->catalog, impl_->devicesOf(pod.node));
  if (!held && !pod.node.empty() && !pod.ended()) {
    impl_->closeFor(pod, held.error().message());
    return held.error();
  }
  if (!impl_->unreadable_pods.empty()) impl_->reopenFor(uid, "");
  if (!held) return held.error();
  if (!*held) {
    // A reservation for a pod that is not bound yet stays. A binding writes node and devices at
    // once: who is bound without devices was bound by somebody else.
    if (!pod.ended() && pod.node.empty()) return {};
    impl_->claims.erase(uid);
    impl_->waiting.leave(uid);
    // Unless its node's own plugin hands out what it asks for.
    if (impl_->own.see(pod, impl_->catalog)) {
      impl_->takeOwn(uid);
    } else {
      impl_->release(uid);
    }
    return {};
  }
  const bool own = impl_->own.find(uid) != nullptr;
  if (own) impl_->own.forget(uid);
  impl_->claims.erase(uid);
  impl_->waiting.leave(uid);
  impl_->guests.erase(uid);
  const PodRef who{pod.meta.space, pod.meta.name};
  const bool known = !impl_->holders.insert_or_assign(uid, who).second;
  const engine::RequestId id(uid);
  const engine::Allocation* old = impl_->engine.find(id);
  // Of who is changed the shares do not say all that is kept.
  const bool pending = pendingChange(pod).has_value();
  const bool changing = pending || impl_->changing.contains(uid);
  if (pending) impl_->changing.insert(uid);
  if (!pending) impl_->changing.erase(uid);
  if (old != nullptr && !changing && sameShares(old->placement, (*held)->placement)) {
    // The pod itself says that it is bound: the answer to our call adds nothing.
    impl_->binding.erase(uid);
    impl_->uncertain.erase(uid);
    impl_->masks.take(uid, (*held)->placement);
    return impl_->engine.confirm(id);
  }
  // Of whom nothing was ever heard nothing is kept: most of all when all are heard of at once.
  if (known || own || old != nullptr) {
    impl_->release(uid);
    impl_->holders.insert_or_assign(uid, who);
  }
  return impl_->hold(pod, **held);
}

void SchedulerCache::removePod(const std::string& uid) {
  impl_->reopenFor(uid, "");
  impl_->waiting.leave(uid);
  impl_->own.forget(uid);
  impl_->gone.add(uid);
  impl_->changing.erase(uid);
  impl_->claims.erase(uid);
  impl_->release(uid);
}

Result<FilterResult> SchedulerCache::filterAndReserve(const kube::Pod& pod,
                                                      std::span<const std::string_view> nodes,
                                                      engine::Instant expires) {
  FilterResult choice;
  const engine::Engine::BudgetScope scope(impl_->engine);
  Result<std::optional<engine::Request>> request = impl_->begin(pod);
  if (!request) return request.error();
  if (!*request) return choice;
  choice.ours = true;
  const Result<Impl::QuotaDecision> decided = impl_->afford(**request, &nodes);
  if (!decided) return decided.error();
  if (decided->placement) {
    const Result<void> reserved = impl_->reserve(**request, *decided->placement, expires);
    if (!reserved) return reserved.error();
    choice.node = decided->placement->node.text;
    impl_->waiting.leave(pod.meta.uid);
    return choice;
  }
  if (!decided->beyond.empty()) {
    // That others make room there does not help: said so, kube-scheduler ends nobody for it.
    for (const std::string_view name : nodes) choice.never.emplace(name, decided->beyond);
    impl_->waiting.enter(pod, std::move(**request));
    impl_->reclaim(pod.meta.uid);
    return choice;
  }
  const Result<void> explained = impl_->explain(**request, nodes, &choice);
  if (!explained) return explained.error();
  // One by one each of them would do, but no way was found in bounded time.
  if (!choice.fitting.empty()) {
    const Reason none = "no way was found";
    const std::unordered_set<std::string_view> tried(choice.fitting.begin(), choice.fitting.end());
    for (const std::string_view name : nodes)
      if (tried.contains(name)) choice.why.emplace(name, none);
    choice.fitting.clear();
  }
  impl_->waiting.enter(pod, std::move(**request));
  impl_->reclaim(pod.meta.uid);
  return choice;
}

Result<FilterResult> SchedulerCache::fitting(const kube::Pod& pod,
                                             std::span<const std::string_view> nodes) {
  FilterResult choice;
  const engine::Engine::BudgetScope scope(impl_->engine);
  Result<std::optional<engine::Request>> request = impl_->begin(pod);
  if (!request) return request.error();
  if (!*request) return choice;
  choice.ours = true;
  const auto beyond =
      impl_->quotas.refusal(pod.meta.space, pod.meta.uid, leastAsked(pod, impl_->catalog));
  if (beyond) {
    for (const std::string_view name : nodes) choice.never.emplace(name, refusalText(*beyond));
    impl_->waiting.enter(pod, std::move(**request));
    impl_->reclaim(pod.meta.uid);
    return choice;
  }
  const Result<void> explained = impl_->explain(**request, nodes, &choice);
  if (!explained) return explained.error();
  if (choice.fitting.empty()) {
    impl_->waiting.enter(pod, std::move(**request));
  } else {
    impl_->waiting.leave(pod.meta.uid);
    impl_->asked.insert_or_assign(pod.meta.uid, std::move(**request));
  }
  impl_->reclaim(pod.meta.uid);
  return choice;
}

Result<std::vector<unsigned>> SchedulerCache::scores(
    const kube::Pod& pod, std::span<const std::string_view> nodes) const {
  const Result<std::optional<engine::Request>> request =
      scheduler::requestOf(pod, impl_->catalog, impl_->config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  if (!*request) return std::vector<unsigned>(nodes.size(), 0);
  const engine::Engine::BudgetScope scope(impl_->engine);
  std::vector<std::uint32_t> scores;
  scores.reserve(nodes.size());
  for (const std::string_view node : nodes) {
    const Result<std::optional<engine::Placement>> there = impl_->decideOn(**request, node);
    if (!there) return there.error();
    scores.push_back(*there ? 1 + (*there)->score : 0);
  }
  return spread(scores);
}

Result<void> SchedulerCache::reserve(const std::string& uid, const std::string& node,
                                     engine::Instant expires) {
  if (impl_->passed.has(uid)) return {};
  // Planned there before kube-scheduler asked.
  const engine::Allocation* planned = impl_->engine.find(engine::RequestId(uid));
  if (planned != nullptr && planned->expires && planned->placement.node.text == node) return {};
  const auto asked = impl_->asked.find(uid);
  if (asked == impl_->asked.end())
    return Error{ErrorCode::kNotFound, "nobody asked where the pod fits: ask again"};
  if (impl_->claims.contains(uid)) impl_->giveBack(uid);
  const Result<std::optional<engine::Placement>> decided = impl_->decideOn(asked->second, node);
  if (!decided) return decided.error();
  if (!*decided) {
    impl_->reclaim(uid);
    return Error{ErrorCode::kNoRoom, "node " + node + " was taken meanwhile: ask again"};
  }
  if (const auto beyond = impl_->beyond(asked->second, **decided)) {
    impl_->reclaim(uid);
    return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  }
  const Result<void> reserved = impl_->reserve(asked->second, **decided, expires);
  if (!reserved) return reserved.error();
  impl_->asked.erase(asked);
  return {};
}

Result<FilterResult> SchedulerCache::simulateFit(const kube::Pod& pod,
                                                 std::span<const kube::Node> nodes) const {
  const auto beyond =
      impl_->quotas.refusal(pod.meta.space, pod.meta.uid, leastAsked(pod, impl_->catalog));
  if (beyond) {
    FilterResult choice;
    choice.ours = true;
    for (const kube::Node& node : nodes) choice.never.emplace(node.meta.name, refusalText(*beyond));
    return choice;
  }
  const WhatIfOptions supposed{
      impl_->config, impl_->engine.pools(),
      [this](const engine::NodeName& node) { return impl_->heldOn(node); }};
  return scheduler::simulateFit(supposed, pod, nodes, impl_->catalog);
}

Result<BindPlan> SchedulerCache::assume(const std::string& uid, const std::string& node,
                                        std::int64_t nanoseconds) {
  if (impl_->passed.has(uid)) return BindPlan{node, {}};
  const auto no = [](const std::string& why) { return Error{ErrorCode::kUnavailable, why}; };
  const engine::RequestId id(uid);
  const engine::Allocation* held = impl_->engine.find(id);
  if (held == nullptr) return no("nothing is reserved for the pod: it expired");
  if (held->placement.node.text != node)
    return no("devices are reserved on " + held->placement.node.text + ", not on " + node);
  const auto known = impl_->nodes.find(node);
  if (known == impl_->nodes.end()) return no("node " + node + " is gone");
  if (!impl_->binding.insert(uid).second) return no("the pod is being bound");
  const ContainerList& guest = impl_->guests[uid];
  engine::Placement given = held->placement;
  const Result<void> cores =
      impl_->masks.assignCores(uid, guest.ends, known->second.devices, &given);
  const Result<void> kept = cores ? impl_->engine.confirm(id) : cores;
  if (!kept) {
    impl_->binding.erase(uid);
    return kept.error();
  }
  BindPlan assigned{node,
                    annotationsOf(given, known->second.devices, guest.containers, nanoseconds)};
  assigned.annotations.emplace(kube::kDecidedKey, kube::encodeDecided(guest.for_agents));
  for (const auto& container : given.containers) {
    for (const engine::Share& share : container) {
      const auto device = known->second.devices.find(share.uuid.text);
      if (device == known->second.devices.end()) continue;
      const vendors::Kind* kind = device->second.kind;
      auto& kinds = assigned.kinds;
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  return assigned;
}

void SchedulerCache::finishBinding(const std::string& uid, BindOutcome end) {
  // Gone: the pod was removed meanwhile.
  if (impl_->binding.erase(uid) == 0) return;
  if (end == BindOutcome::kRefused) impl_->release(uid);
  if (end == BindOutcome::kRefused) impl_->reclaim(uid);
  if (end == BindOutcome::kBound) impl_->claims.erase(uid);
  if (end == BindOutcome::kUncertain) impl_->uncertain.insert(uid);
}

std::string SchedulerCache::withdrawnFrom(const std::string& uid) const {
  const engine::Allocation* held = impl_->engine.find(engine::RequestId(uid));
  if (held == nullptr) return {};
  const auto node = impl_->nodes.find(held->placement.node.text);
  if (node == impl_->nodes.end()) return {};
  const kube::Labels& notes = node->second.said.meta.annotations;
  const auto said = notes.find(kube::kFullKey);
  if (said == notes.end()) return {};
  const std::set<std::string> full = kube::decodeDevices(said->second);
  for (const auto& container : held->placement.containers)
    for (const engine::Share& share : container)
      if (full.contains(share.uuid.text)) return share.uuid.text;
  return {};
}

std::size_t SchedulerCache::expire(engine::Instant now) {
  const std::vector<engine::Allocation> ended = impl_->engine.expire(now);
  for (const engine::Allocation& one : ended) impl_->leave(one.placement.node.text, one.id.text);
  for (const engine::Allocation& one : ended) impl_->holders.erase(one.id.text);
  for (const engine::Allocation& one : ended) impl_->quotas.give(one.id.text);
  std::erase_if(impl_->claims, [&](const auto& one) { return *one.second.expires <= now; });
  for (const engine::Allocation& one : ended) impl_->reclaim(one.id.text);
  if (!ended.empty()) impl_->waiting.open();
  return ended.size();
}

std::size_t SchedulerCache::closedNodes() const {
  return impl_->unreadable_pods.size();
}

bool SchedulerCache::mayRequeue(engine::Instant now) {
  return impl_->waiting.mayRequeue(now);
}

std::size_t SchedulerCache::waiting() const {
  return impl_->waiting.size();
}

std::vector<PodRef> SchedulerCache::popSchedulable(std::size_t most, engine::Instant now) {
  const engine::Engine::BudgetScope scope(impl_->engine);
  const std::uint64_t before = impl_->engine.tries();
  const auto fits = [&](const engine::Request& request) {
    const Result<Impl::QuotaDecision> decided = impl_->afford(request, nullptr);
    return decided && decided->placement;
  };
  const auto over = [&] { return impl_->engine.tries() - before >= engine::kTriesOfDecision; };
  return impl_->waiting.popSchedulable(most, now, fits, over);
}

std::vector<std::string> SchedulerCache::nodes() const {
  std::vector<std::string> names;
  names.reserve(impl_->nodes.size());
  for (const auto& [name, node] : impl_->nodes) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// As their agent numbers them, where it does; else in their order.
std::vector<std::size_t> indexesOf(const CachedNode& node) {
  std::vector<std::size_t> indexes;
  std::set<std::size_t> different;
  for (const engine::Device& device : node.node.devices) {
    const auto known = node.devices.find(device.uuid.text);
    indexes.push_back(known == node.devices.end() ? indexes.size() : known->second.index);
    different.insert(indexes.back());
  }
  if (different.size() != indexes.size()) std::iota(indexes.begin(), indexes.end(), 0);
  return indexes;
}

}  // namespace

std::vector<DeviceUsage> SchedulerCache::devicesOf(const std::string& node) const {
  std::vector<DeviceUsage> all;
  const auto known = impl_->nodes.find(node);
  const Result<std::vector<engine::DeviceUsed>> used = impl_->engine.used(engine::NodeName(node));
  if (known == impl_->nodes.end() || !used) return all;
  const std::vector<engine::Device>& devices = known->second.node.devices;
  const std::vector<std::size_t> indexes = indexesOf(known->second);
  for (std::size_t i = 0; i < devices.size() && i < used->size(); ++i) {
    const engine::Device& device = devices[i];
    const engine::DeviceUsed& taken = (*used)[i];
    const bool healthy = device.health == engine::Health::kHealthy;
    all.push_back({node, device.uuid.text, device.model.text, device.kind.text, taken.pool.text,
                   indexes[i], healthy, device.memory, device.compute, device.slots, taken.memory,
                   taken.compute, taken.tenants, device.cordoned || known->second.node.cordoned,
                   device.mode == engine::Mode::kWhole});
  }
  return all;
}

std::vector<AllocatedShare> SchedulerCache::shares() const {
  std::vector<AllocatedShare> all;
  for (const auto& [uid, who] : impl_->holders) {
    const engine::Allocation* held = impl_->engine.find(engine::RequestId(uid));
    if (held == nullptr) continue;
    const engine::Placement& placement = held->placement;
    for (std::size_t at = 0; at < placement.containers.size(); ++at) {
      for (const engine::Share& share : placement.containers[at])
        all.push_back({who.space, who.name, placement.node.text, share.uuid.text, at, share.memory,
                       share.compute});
    }
  }
  return all;
}

}  // namespace divvy::scheduler
