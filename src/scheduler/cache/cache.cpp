#include "scheduler/cache.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_set>
#include <utility>

#include "cache/cache_impl.h"
#include "cache/what_if.h"
#include "codec/assignment.h"
#include "codec/pending_resize.h"
#include "kube/decided_words.h"
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
  constexpr std::size_t kMost = 10;
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
                                     kMost - better * (kMost - 1) /
                                                 std::max<std::size_t>(distinct.size() - 1, 1)));
  }
  return scores;
}

}  // namespace

Books::Books(const vendors::Catalog& catalog, engine::Config config)
    : inside_(std::make_unique<Inside>(catalog, config)) {}
Books::~Books() = default;

Result<void> Books::setPools(std::vector<engine::Pool> pools) {
  const auto set = inside_->engine.setPools(std::move(pools));
  if (!set) return set.error();
  inside_->waiting.open();
  return {};
}

std::vector<std::string> Books::unreadOf(const std::string& node) const {
  const auto known = inside_->nodes.find(node);
  return known == inside_->nodes.end() ? std::vector<std::string>() : known->second.unread;
}

Result<void> Books::setNode(const kube::Node& node) {
  const std::string& name = node.meta.name;
  const auto known = inside_->nodes.find(name);
  if (known != inside_->nodes.end() && sameWords(known->second.said, node)) return {};
  const Result<void> taken = takeNode(node);
  if (taken) recordInventory(name);
  return taken;
}

Result<void> Books::takeNode(const kube::Node& node) {
  const std::string& name = node.meta.name;
  const auto known = inside_->nodes.find(name);
  Result<DescribedNode> described =
      describe(node, inside_->catalog, inside_->recorded.elsewhereThan(name));
  const Result<void> set =
      described ? inside_->engine.setNode(described->node) : Result<void>(described.error());
  if (!set) {
    inside_->unreadable[name] = set.error().message();
    if (known == inside_->nodes.end()) return set;
    known->second.said = node;
    known->second.node.cordoned = true;
    const Result<void> kept = inside_->engine.setNode(known->second.node);
    (void)kept;  // as it was accepted before
    return set;
  }
  inside_->unreadable.erase(name);
  inside_->nodes[name] = {node.meta.uid,
                          node,
                          std::move(described->node),
                          std::move(described->devices),
                          std::move(described->unread),
                          {std::move(described->registered), std::move(described->inventory),
                           std::move(described->surplus)}};
  if (inside_->unreadable_pods.contains(name)) inside_->showNode(name);
  inside_->alike.clear();
  inside_->takeHome(name);
  for (const std::string& pod : inside_->own.on(name)) inside_->takeOwn(pod);
  inside_->waiting.open();
  return {};
}

void Books::removeNode(const std::string& uid, const std::string& name) {
  const auto known = inside_->nodes.find(name);
  // One of that name has come since.
  if (known != inside_->nodes.end() && known->second.uid != uid) return;
  inside_->nodes.erase(name);
  inside_->unreadable.erase(name);
  inside_->on.erase(name);
  inside_->alike.clear();
  for (engine::Allocation& one : inside_->engine.removeNode(engine::NodeName(name))) {
    if (one.expires) inside_->quotas.give(one.id.text);
    if (one.expires) continue;
    const std::string pod = one.id.text;
    inside_->masks.give(pod);
    // Once the node is there again it is counted anew.
    if (inside_->own.find(pod) != nullptr) inside_->quotas.give(pod);
    if (inside_->own.find(pod) != nullptr) continue;
    inside_->homeless.set(pod, Homeless{std::move(one), {}});
  }
  recordInventory(name);
}

Result<void> Books::setPod(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  Result<std::optional<engine::Allocation>> held =
      heldBy(pod, inside_->catalog, inside_->devicesOf(pod.node));
  if (!held && !pod.node.empty() && !pod.ended()) {
    inside_->closeFor(pod, held.error().message());
    return held.error();
  }
  if (!inside_->unreadable_pods.empty()) inside_->reopenFor(uid, "");
  if (!held) return held.error();
  if (!*held) {
    // A reservation for a pod that is not bound yet stays. A binding writes node and devices at
    // once: who is bound without devices was bound by somebody else.
    if (!pod.ended() && pod.node.empty()) return {};
    inside_->claims.erase(uid);
    inside_->waiting.leave(uid);
    // Unless its node's own plugin hands out what it asks for.
    if (inside_->own.see(pod, inside_->catalog)) {
      inside_->takeOwn(uid);
    } else {
      inside_->release(uid);
    }
    return {};
  }
  const bool own = inside_->own.find(uid) != nullptr;
  if (own) inside_->own.forget(uid);
  inside_->claims.erase(uid);
  inside_->waiting.leave(uid);
  inside_->guests.erase(uid);
  const Waiting who{pod.meta.space, pod.meta.name};
  const bool known = !inside_->holders.insert_or_assign(uid, who).second;
  const engine::RequestId id(uid);
  const engine::Allocation* old = inside_->engine.find(id);
  // Of who is changed the shares do not say all that is kept.
  const bool pending = pendingChange(pod).has_value();
  const bool changing = pending || inside_->changing.contains(uid);
  if (pending) inside_->changing.insert(uid);
  if (!pending) inside_->changing.erase(uid);
  if (old != nullptr && !changing && sameShares(old->placement, (*held)->placement)) {
    inside_->uncertain.erase(uid);
    inside_->masks.take(uid, (*held)->placement);
    return inside_->engine.confirm(id);
  }
  // Of whom nothing was ever heard nothing is kept: most of all when all are heard of at once.
  if (known || own || old != nullptr) {
    inside_->release(uid);
    inside_->holders.insert_or_assign(uid, who);
  }
  return inside_->hold(pod, **held);
}

void Books::removePod(const std::string& uid) {
  inside_->reopenFor(uid, "");
  inside_->waiting.leave(uid);
  inside_->own.forget(uid);
  inside_->gone.add(uid);
  inside_->changing.erase(uid);
  inside_->claims.erase(uid);
  inside_->release(uid);
}

Result<Choice> Books::choose(const kube::Pod& pod, std::span<const std::string_view> nodes,
                             engine::Instant expires) {
  Choice choice;
  const engine::Engine::BudgetScope scope(inside_->engine);
  Result<std::optional<engine::Request>> request = inside_->begin(pod);
  if (!request) return request.error();
  if (!*request) return choice;
  choice.ours = true;
  const Result<Inside::Affordable> decided = inside_->afford(**request, &nodes);
  if (!decided) return decided.error();
  if (decided->placement) {
    const Result<void> reserved = inside_->reserve(**request, *decided->placement, expires);
    if (!reserved) return reserved.error();
    choice.node = decided->placement->node.text;
    inside_->waiting.leave(pod.meta.uid);
    return choice;
  }
  if (!decided->beyond.empty()) {
    // That others make room there does not help: said so, kube-scheduler ends nobody for it.
    for (const std::string_view name : nodes) choice.never.emplace(name, decided->beyond);
    inside_->waiting.enter(pod, std::move(**request));
    inside_->reclaim(pod.meta.uid);
    return choice;
  }
  const Result<void> explained = inside_->explain(**request, nodes, &choice);
  if (!explained) return explained.error();
  // One by one each of them would do, but no way was found in bounded time.
  if (!choice.fitting.empty()) {
    const Reason none = "no way was found";
    const std::unordered_set<std::string_view> tried(choice.fitting.begin(), choice.fitting.end());
    for (const std::string_view name : nodes)
      if (tried.contains(name)) choice.why.emplace(name, none);
    choice.fitting.clear();
  }
  inside_->waiting.enter(pod, std::move(**request));
  inside_->reclaim(pod.meta.uid);
  return choice;
}

Result<Choice> Books::fitting(const kube::Pod& pod, std::span<const std::string_view> nodes) {
  Choice choice;
  const engine::Engine::BudgetScope scope(inside_->engine);
  Result<std::optional<engine::Request>> request = inside_->begin(pod);
  if (!request) return request.error();
  if (!*request) return choice;
  choice.ours = true;
  const auto beyond =
      inside_->quotas.refusal(pod.meta.space, pod.meta.uid, leastAsked(pod, inside_->catalog));
  if (beyond) {
    for (const std::string_view name : nodes) choice.never.emplace(name, refusalText(*beyond));
    inside_->waiting.enter(pod, std::move(**request));
    inside_->reclaim(pod.meta.uid);
    return choice;
  }
  const Result<void> explained = inside_->explain(**request, nodes, &choice);
  if (!explained) return explained.error();
  if (choice.fitting.empty()) {
    inside_->waiting.enter(pod, std::move(**request));
  } else {
    inside_->waiting.leave(pod.meta.uid);
    inside_->asked.insert_or_assign(pod.meta.uid, std::move(**request));
  }
  inside_->reclaim(pod.meta.uid);
  return choice;
}

Result<std::vector<unsigned>> Books::scores(const kube::Pod& pod,
                                            std::span<const std::string_view> nodes) const {
  const Result<std::optional<engine::Request>> request =
      requestOf(pod, inside_->catalog, inside_->config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  if (!*request) return std::vector<unsigned>(nodes.size(), 0);
  const engine::Engine::BudgetScope scope(inside_->engine);
  std::vector<std::uint32_t> scores;
  scores.reserve(nodes.size());
  for (const std::string_view node : nodes) {
    const Result<std::optional<engine::Placement>> there = inside_->decideOn(**request, node);
    if (!there) return there.error();
    scores.push_back(*there ? 1 + (*there)->score : 0);
  }
  return spread(scores);
}

Result<void> Books::reserveOn(const std::string& uid, const std::string& node,
                              engine::Instant expires) {
  if (inside_->passed.has(uid)) return {};
  // Planned there before kube-scheduler asked.
  const engine::Allocation* planned = inside_->engine.find(engine::RequestId(uid));
  if (planned != nullptr && planned->expires && planned->placement.node.text == node) return {};
  const auto asked = inside_->asked.find(uid);
  if (asked == inside_->asked.end())
    return Error{ErrorCode::kNotFound, "nobody asked where the pod fits: ask again"};
  if (inside_->claims.contains(uid)) inside_->giveBack(uid);
  const Result<std::optional<engine::Placement>> decided = inside_->decideOn(asked->second, node);
  if (!decided) return decided.error();
  if (!*decided) {
    inside_->reclaim(uid);
    return Error{ErrorCode::kNoRoom, "node " + node + " was taken meanwhile: ask again"};
  }
  if (const auto beyond = inside_->beyond(asked->second, **decided)) {
    inside_->reclaim(uid);
    return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  }
  const Result<void> reserved = inside_->reserve(asked->second, **decided, expires);
  if (!reserved) return reserved.error();
  inside_->asked.erase(asked);
  return {};
}

Result<Choice> Books::wouldFit(const kube::Pod& pod, std::span<const kube::Node> nodes) const {
  const auto beyond =
      inside_->quotas.refusal(pod.meta.space, pod.meta.uid, leastAsked(pod, inside_->catalog));
  if (beyond) {
    Choice choice;
    choice.ours = true;
    for (const kube::Node& node : nodes) choice.never.emplace(node.meta.name, refusalText(*beyond));
    return choice;
  }
  const Supposed supposed{inside_->config, inside_->engine.pools(),
                          [this](const engine::NodeName& node) { return inside_->heldOn(node); }};
  return scheduler::wouldFit(supposed, pod, nodes, inside_->catalog);
}

Result<Assigned> Books::beginBind(const std::string& uid, const std::string& node,
                                  std::int64_t nanoseconds) {
  if (inside_->passed.has(uid)) return Assigned{node, {}};
  const auto no = [](const std::string& why) { return Error{ErrorCode::kUnavailable, why}; };
  const engine::RequestId id(uid);
  const engine::Allocation* held = inside_->engine.find(id);
  if (held == nullptr) return no("nothing is reserved for the pod: it expired");
  if (held->placement.node.text != node)
    return no("devices are reserved on " + held->placement.node.text + ", not on " + node);
  const auto known = inside_->nodes.find(node);
  if (known == inside_->nodes.end()) return no("node " + node + " is gone");
  if (!inside_->binding.insert(uid).second) return no("the pod is being bound");
  const Guest& guest = inside_->guests[uid];
  engine::Placement given = held->placement;
  const Result<void> cores = inside_->masks.choose(uid, guest.ends, known->second.devices, &given);
  const Result<void> kept = cores ? inside_->engine.confirm(id) : cores;
  if (!kept) {
    inside_->binding.erase(uid);
    return kept.error();
  }
  Assigned assigned{node,
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

void Books::endBind(const std::string& uid, BindEnd end) {
  // Gone: the pod was removed meanwhile.
  if (inside_->binding.erase(uid) == 0) return;
  if (end == BindEnd::kRefused) inside_->release(uid);
  if (end == BindEnd::kRefused) inside_->reclaim(uid);
  if (end == BindEnd::kBound) inside_->claims.erase(uid);
  if (end == BindEnd::kUncertain) inside_->uncertain.insert(uid);
}

std::string Books::withdrawnFrom(const std::string& uid) const {
  const engine::Allocation* held = inside_->engine.find(engine::RequestId(uid));
  if (held == nullptr) return {};
  const auto node = inside_->nodes.find(held->placement.node.text);
  if (node == inside_->nodes.end()) return {};
  const kube::Labels& notes = node->second.said.meta.annotations;
  const auto said = notes.find(kube::kFullKey);
  if (said == notes.end()) return {};
  const std::set<std::string> full = kube::decodeDevices(said->second);
  for (const auto& container : held->placement.containers)
    for (const engine::Share& share : container)
      if (full.contains(share.uuid.text)) return share.uuid.text;
  return {};
}

std::size_t Books::expire(engine::Instant now) {
  const std::vector<engine::Allocation> ended = inside_->engine.expire(now);
  for (const engine::Allocation& one : ended) inside_->leave(one.placement.node.text, one.id.text);
  for (const engine::Allocation& one : ended) inside_->holders.erase(one.id.text);
  for (const engine::Allocation& one : ended) inside_->quotas.give(one.id.text);
  std::erase_if(inside_->claims, [&](const auto& one) { return *one.second.expires <= now; });
  for (const engine::Allocation& one : ended) inside_->reclaim(one.id.text);
  if (!ended.empty()) inside_->waiting.open();
  return ended.size();
}

std::size_t Books::closedNodes() const {
  return inside_->unreadable_pods.size();
}

bool Books::worthALook(engine::Instant now) {
  return inside_->waiting.worthALook(now);
}

std::size_t Books::waiting() const {
  return inside_->waiting.size();
}

std::vector<Waiting> Books::nowFitting(std::size_t most, engine::Instant now) {
  const engine::Engine::BudgetScope scope(inside_->engine);
  const std::uint64_t before = inside_->engine.tries();
  const auto fits = [&](const engine::Request& request) {
    const Result<Inside::Affordable> decided = inside_->afford(request, nullptr);
    return decided && decided->placement;
  };
  const auto over = [&] { return inside_->engine.tries() - before >= engine::kTriesOfDecision; };
  return inside_->waiting.call(most, now, fits, over);
}

std::vector<std::string> Books::nodes() const {
  std::vector<std::string> names;
  names.reserve(inside_->nodes.size());
  for (const auto& [name, node] : inside_->nodes) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// As their agent numbers them, where it does; else in their order.
std::vector<std::size_t> indexesOf(const KnownNode& node) {
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

std::vector<DeviceUse> Books::devicesOf(const std::string& node) const {
  std::vector<DeviceUse> all;
  const auto known = inside_->nodes.find(node);
  const Result<std::vector<engine::DeviceUsed>> used = inside_->engine.used(engine::NodeName(node));
  if (known == inside_->nodes.end() || !used) return all;
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

std::vector<HeldShare> Books::shares() const {
  std::vector<HeldShare> all;
  for (const auto& [uid, who] : inside_->holders) {
    const engine::Allocation* held = inside_->engine.find(engine::RequestId(uid));
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
