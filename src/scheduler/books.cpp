#include "scheduler/books.h"

#include <algorithm>
#include <set>
#include <utility>

#include "describe.h"
#include "engine/engine.h"
#include "last.h"
#include "waiting_room.h"

namespace divvy::scheduler {
namespace {

// Far more than can be removed, or passed on, while one scheduling cycle is under way.
constexpr std::size_t kMostRemembered = 10'000;

struct KnownNode {
  std::string uid;
  kube::Node said;  // as it was told last
  engine::Node node;
  Kinds kinds;
};

// Whether a node says anything else that matters here.
bool sameWords(const kube::Node& a, const kube::Node& b) {
  return a.meta.uid == b.meta.uid && a.meta.annotations == b.meta.annotations &&
         a.meta.labels == b.meta.labels && a.unschedulable == b.unschedulable;
}

// In annotations there is no more of a share than this.
bool sameShares(const engine::Placement& a, const engine::Placement& b) {
  const auto same = [](const engine::Share& x, const engine::Share& y) {
    return x.uuid == y.uuid && x.memory.count / mib(1).count == y.memory.count / mib(1).count &&
           x.compute == y.compute;
  };
  return a.node == b.node && a.containers.size() == b.containers.size() &&
         std::equal(a.containers.begin(), a.containers.end(), b.containers.begin(),
                    [&](const auto& x, const auto& y) {
                      return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
                    });
}

}  // namespace

struct Books::Inside {
  Inside(const vendors::Catalog& known, engine::Config config) : catalog(known), engine(config) {}

  void release(const std::string& uid) {
    homeless.erase(uid);
    binding.erase(uid);
    uncertain.erase(uid);
    if (engine.release(engine::RequestId(uid))) waiting.open();
  }

  // It is so, whatever else was booked.
  Result<void> hold(const std::string& uid, const engine::Allocation& held) {
    const Result<void> adopted = engine.adopt(held);
    if (adopted || adopted.error().code() != ErrorCode::kNotFound) return adopted;
    homeless.insert_or_assign(uid, held);
    return {};
  }

  void takeHome(const std::string& node) {
    for (auto at = homeless.begin(); at != homeless.end();) {
      const bool here = at->second.placement.node.text == node && engine.adopt(at->second);
      at = here ? homeless.erase(at) : std::next(at);
    }
  }

  // Why no decision could be about that node.
  std::string unknown(const std::string& name) const {
    const auto fault = unreadable.find(name);
    if (fault != unreadable.end()) return fault->second;
    return nodes.contains(name) ? "taken meanwhile" : "no devices are registered";
  }

  // Why it goes to none of these.
  Result<void> explain(const engine::Request& request, std::span<const std::string> names,
                       Choice* choice) const {
    const Result<engine::Decision> decision = engine.explain(request);
    if (!decision) return decision.error();
    std::map<std::string, const engine::NodeRefusal*> refusals;
    for (const engine::NodeRefusal& one : decision->refusals) refusals[one.node.text] = &one;
    for (const std::string& name : names) {
      const auto found = refusals.find(name);
      if (found == refusals.end() || unreadable.contains(name)) {
        choice->why[name] = unknown(name);
        continue;
      }
      const bool never = found->second->why == engine::NodeWhy::kTooFew;
      (never ? choice->never : choice->why)[name] = engine::text(*found->second);
    }
    return {};
  }

  const vendors::Catalog& catalog;
  engine::Engine engine;
  std::map<std::string, KnownNode> nodes;
  std::map<std::string, std::string> unreadable;  // by node: what is wrong with what it says
  // By UID: held on nodes that are not known.
  std::map<std::string, engine::Allocation> homeless;
  // UIDs: bound at this moment; and those of whom it is not known whether they were.
  std::set<std::string> binding, uncertain;
  WaitingRoom waiting;
  // UIDs of pods that were removed: kube-scheduler may ask for one that we know to be gone, and
  // would never come back with it. And of pods that have no devices, but name one of our resources.
  Last gone{kMostRemembered}, passed{kMostRemembered};
};

Books::Books(const vendors::Catalog& catalog, engine::Config config)
    : inside_(std::make_unique<Inside>(catalog, config)) {}
Books::~Books() = default;

Result<void> Books::setNode(const kube::Node& node) {
  const std::string& name = node.meta.name;
  const auto known = inside_->nodes.find(name);
  if (known != inside_->nodes.end() && sameWords(known->second.said, node)) return {};
  Result<DescribedNode> described = describe(node);
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
  inside_->nodes[name] = {node.meta.uid, node, std::move(described->node),
                          std::move(described->kinds)};
  inside_->takeHome(name);
  inside_->waiting.open();
  return {};
}

void Books::removeNode(const std::string& uid, const std::string& name) {
  const auto known = inside_->nodes.find(name);
  // One of that name has come since.
  if (known != inside_->nodes.end() && known->second.uid != uid) return;
  inside_->nodes.erase(name);
  inside_->unreadable.erase(name);
  for (engine::Allocation& one : inside_->engine.removeNode(engine::NodeName(name))) {
    if (one.expires) continue;
    const std::string pod = one.id.text;
    inside_->homeless.insert_or_assign(pod, std::move(one));
  }
}

Result<void> Books::setPod(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  Result<std::optional<engine::Allocation>> held = heldBy(pod, inside_->catalog);
  if (!held) return held.error();
  if (!*held) {
    // A reservation for a pod that is not bound yet stays. A binding writes node and devices at
    // once: who is bound without devices was bound by somebody else.
    if (!pod.ended() && pod.node.empty()) return {};
    inside_->release(uid);
    inside_->waiting.leave(uid);
    return {};
  }
  inside_->waiting.leave(uid);
  const engine::RequestId id(uid);
  const engine::Allocation* old = inside_->engine.find(id);
  if (old != nullptr && sameShares(old->placement, (*held)->placement)) {
    inside_->uncertain.erase(uid);
    return inside_->engine.confirm(id);
  }
  inside_->release(uid);
  return inside_->hold(uid, **held);
}

void Books::removePod(const std::string& uid) {
  inside_->waiting.leave(uid);
  inside_->gone.add(uid);
  inside_->release(uid);
}

Result<Choice> Books::choose(const kube::Pod& pod, std::span<const std::string> nodes,
                             engine::Instant expires) {
  Choice choice;
  const std::string& uid = pod.meta.uid;
  Result<std::optional<engine::Request>> request = requestOf(pod, inside_->catalog);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  if (!*request) {
    inside_->passed.add(uid);
    return choice;
  }
  choice.ours = true;
  if (inside_->gone.has(uid)) return Error{ErrorCode::kNotFound, "the pod is gone"};
  const engine::Allocation* old = inside_->engine.find(engine::RequestId(uid));
  const bool settled = old != nullptr && !old->expires && !inside_->uncertain.contains(uid);
  if (settled || inside_->homeless.contains(uid))
    return Error{ErrorCode::kUnavailable, "the pod is bound to a node, or about to be"};
  inside_->release(uid);
  std::vector<engine::NodeName> known;
  known.reserve(nodes.size());
  for (const std::string& name : nodes)
    if (inside_->nodes.contains(name)) known.emplace_back(name);
  if (!known.empty()) {
    const Result<engine::Decision> decision = inside_->engine.decideAmong(**request, known);
    if (!decision) return decision.error();
    if (decision->placement) {
      const Result<engine::Allocation> reserved =
          inside_->engine.reserve(**request, *decision->placement, expires);
      if (!reserved) return reserved.error();
      choice.node = reserved->placement.node.text;
      inside_->waiting.leave(uid);
      return choice;
    }
  }
  const Result<void> explained = inside_->explain(**request, nodes, &choice);
  if (!explained) return explained.error();
  inside_->waiting.enter(pod, std::move(**request));
  return choice;
}

Result<Assigned> Books::beginBind(const std::string& uid, const std::string& node,
                                  std::int64_t seconds) {
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
  Assigned assigned{node, annotationsOf(held->placement, known->second.kinds, seconds)};
  const Result<void> kept = inside_->engine.confirm(id);
  if (!kept) return kept.error();
  return assigned;
}

void Books::endBind(const std::string& uid, BindEnd end) {
  // Gone: the pod was removed meanwhile.
  if (inside_->binding.erase(uid) == 0) return;
  if (end == BindEnd::kRefused) inside_->release(uid);
  if (end == BindEnd::kUncertain) inside_->uncertain.insert(uid);
}

std::size_t Books::expire(engine::Instant now) {
  const std::size_t ended = inside_->engine.expire(now).size();
  if (ended > 0) inside_->waiting.open();
  return ended;
}

bool Books::worthALook(engine::Instant now) {
  return inside_->waiting.worthALook(now);
}

std::vector<Waiting> Books::nowFitting(std::size_t most, engine::Instant now) {
  return inside_->waiting.call(most, now, [&](const engine::Request& request) {
    const Result<engine::Decision> decision = inside_->engine.decide(request);
    return decision && decision->placement;
  });
}

}  // namespace divvy::scheduler
