#include "cache/reservations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "annotations/assignment.h"
#include "codec/pod_request.h"
#include "kube/assignment_text.h"

namespace divvy::scheduler {
namespace {

// Requests nothing of such models, whatever else the shape selects.
void leaveOut(const std::vector<std::string>& models, engine::Shape* shape) {
  for (const std::string& model : models) {
    shape->selector.not_models.emplace_back(model);
    for (engine::KindSelector& one : shape->by_kind) one.selector.not_models.emplace_back(model);
  }
}

void leaveOut(const engine::Node& node, engine::Shape* shape) {
  for (const engine::Device& device : node.devices) {
    shape->selector.not_uuids.push_back(device.uuid);
    for (engine::KindSelector& one : shape->by_kind) one.selector.not_uuids.push_back(device.uuid);
  }
}

std::vector<const vendors::Kind*> kindsOf(const engine::Placement& placement,
                                          const DeviceMetadataMap& devices) {
  std::vector<const vendors::Kind*> kinds;
  for (const auto& container : placement.containers) {
    for (const engine::Share& share : container) {
      const auto device = devices.find(share.uuid.text);
      if (device == devices.end()) continue;
      const vendors::Kind* kind = device->second.kind;
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  return kinds;
}

Error unavailable(const std::string& why) {
  return Error{ErrorCode::kUnavailable, why};
}

}  // namespace

Result<void> Reservations::reserve(const std::string& uid, const std::string& node,
                                   engine::Instant expires) {
  if (state_.passed.has(uid)) return {};
  const PodEntry* entry = state_.pods.find(uid);
  const PodState state = entry == nullptr ? PodState::kPending : entry->state;
  const bool held = state == PodState::kReserved || state == PodState::kNominated;
  // Planned there before kube-scheduler filtered.
  if (held && entry->node == node) return {};
  if (entry == nullptr || entry->details.request == nullptr)
    return Error{ErrorCode::kNotFound, "the pod was not filtered before: retry"};
  if (state != PodState::kPending && state != PodState::kNominated)
    return unavailable("the pod is bound to a node, or about to be");
  const engine::Request& request = *entry->details.request;
  if (state == PodState::kNominated) {
    const Result<void> suspended = state_.pods.transit(uid, {.to = PodState::kPending});
    if (!suspended) return suspended;
  }
  const Result<std::optional<engine::Placement>> decided = search_.onNode(request, node);
  if (!decided) return decided.error();
  if (!*decided) {
    state_.pods.restoreNomination(uid);
    return Error{ErrorCode::kNoRoom, "node " + node + " was allocated meanwhile: retry"};
  }
  if (const auto beyond = search_.beyondQuota(request, **decided)) {
    state_.pods.restoreNomination(uid);
    return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  }
  const Result<void> reserved = filter_.reserve(request, **decided, expires);
  if (!reserved) return reserved.error();
  state_.pods.details(uid).request.reset();
  return {};
}

// Begins the decision for each pod, and reads all as one gang.
Result<engine::Gang> Reservations::readGang(std::span<const kube::Pod> pods,
                                            const std::vector<std::string>& without,
                                            const std::vector<std::string>& not_on) {
  engine::Gang gang;
  for (const kube::Pod& pod : pods) {
    Result<std::optional<engine::Request>> request = filter_.begin(pod);
    if (request && !*request) request = Error{ErrorCode::kUsage, "it requests no devices"};
    if (!request) return Error(request.error()).context("pod " + pod.meta.name);
    leaveOut(without, &(*request)->shape);
    for (const std::string& node : not_on)
      if (const CachedNode* known = state_.nodes.find(node))
        leaveOut(known->node, &(*request)->shape);
    gang.members.push_back(std::move(**request));
  }
  return gang;
}

Result<std::vector<engine::Allocation>> Reservations::place(const engine::Gang& gang,
                                                            engine::Instant expires) {
  if (gang.members.size() == 1) {
    const engine::Request& only = gang.members[0];
    const Result<QuotaDecision> decided = search_.withinQuota(only, nullptr);
    if (!decided) return decided.error();
    if (!decided->placement)
      return Error{ErrorCode::kNoRoom,
                   decided->beyond.empty() ? "it fits on no node now" : decided->beyond};
    const Result<void> reserved = filter_.reserve(only, *decided->placement, expires);
    if (!reserved) return reserved.error();
    return std::vector<engine::Allocation>{*state_.engine.find(only.id)};
  }
  Result<engine::GangPlacement> placed = state_.engine.placeGang(gang, expires);
  if (!placed) return placed.error();
  if (const Result<void> taken = takeGang(gang, placed->members); !taken) return taken.error();
  return std::move(placed->members);
}

// Makes the members of a placed gang reserved, in their order. kNoRoom: why the quota refuses one;
// all are released then.
Result<void> Reservations::takeGang(const engine::Gang& gang,
                                    const std::vector<engine::Allocation>& given) {
  std::optional<std::string> beyond;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const engine::Request& member = gang.members[i];
    if (!beyond) beyond = search_.beyondQuota(member, given[i].placement);
    PodChange change{.to = PodState::kReserved, .allocation = &given[i]};
    if (!beyond)
      change.charge = QuotaCharge{member.user.text, state_.amountsOf(given[i].placement, nullptr)};
    const Result<void> reserved = state_.pods.transit(member.id.text, std::move(change));
    (void)reserved;  // the engine has it already
  }
  if (!beyond) return {};
  for (const engine::Request& member : gang.members) state_.release(member.id.text);
  return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
}

Result<std::vector<Reservation>> Reservations::plan(std::span<const kube::Pod> pods,
                                                    const std::vector<std::string>& without,
                                                    const std::vector<std::string>& not_on,
                                                    engine::Instant expires) {
  const Result<engine::Gang> gang = readGang(pods, without, not_on);
  const Result<std::vector<engine::Allocation>> given =
      gang ? place(*gang, expires) : Result<std::vector<engine::Allocation>>(gang.error());
  if (!given) {
    for (const kube::Pod& pod : pods) state_.pods.restoreNomination(pod.meta.uid);
    return given.error();
  }
  std::vector<Reservation> all;
  for (const engine::Allocation& one : *given) {
    const std::string& node = one.placement.node.text;
    state_.unschedulable.leave(one.id.text);
    const PodEntry& entry = *state_.pods.find(one.id.text);
    all.push_back({node, annotationsOf(one.placement, state_.nodes.find(node)->devices,
                                       entry.details.containers->containers, 0)});
  }
  return all;
}

Result<void> Reservations::restoreReservation(const kube::Pod& pod, const Reservation& was,
                                              engine::Instant expires) {
  Result<std::optional<engine::Request>> request = filter_.begin(pod);
  if (!request) return request.error();
  if (!*request) return Error{ErrorCode::kUsage, "it requests no devices"};
  kube::Pod as_bound = pod;
  as_bound.node = was.node;
  for (const auto& [key, value] : was.annotations)
    as_bound.meta.annotations.insert_or_assign(key, value);
  const Result<std::optional<engine::Allocation>> held =
      heldBy(as_bound, state_.catalog, state_.nodes.devicesOf(was.node));
  if (!held) return held.error();
  if (!*held || state_.nodes.find(was.node) == nullptr)
    return Error{ErrorCode::kNoRoom, "node " + was.node + " is not known"};
  return filter_.reserve(**request, (*held)->placement, expires);
}

void Reservations::unreserve(const std::string& uid, bool forget) {
  const PodState state = state_.pods.stateOf(uid);
  if (state != PodState::kReserved && !(forget && state == PodState::kPending)) return;
  state_.release(uid);
  state_.pods.restoreNomination(uid);
}

std::size_t Reservations::expire(engine::Instant now) {
  const std::vector<engine::Allocation> ended = state_.engine.expire(now);
  for (const engine::Allocation& one : ended) {
    const Result<void> expired = state_.pods.transit(one.id.text, {.to = PodState::kPending});
    (void)expired;  // only nominated and reserved pods expire
    state_.pods.details(one.id.text).pod.reset();
  }
  state_.pods.expireNominations(now);
  for (const engine::Allocation& one : ended) state_.pods.restoreNomination(one.id.text);
  if (!ended.empty()) state_.unschedulable.open();
  return ended.size();
}

Result<void> Reservations::nominate(const kube::Pod& pod, const engine::Placement& placement,
                                    engine::Instant until) {
  const std::string& uid = pod.meta.uid;
  if (state_.removed.has(uid)) return Error{ErrorCode::kNotFound, "the pod is gone"};
  const PodState state = state_.pods.stateOf(uid);
  if (state != PodState::kPending && state != PodState::kNominated)
    return unavailable("the pod has been placed");
  if (state_.quotas.limits(pod.meta.namespace_name)) {
    const auto beyond =
        state_.quotas.refusal(pod.meta.namespace_name, uid, state_.amountsOf(placement, nullptr));
    if (beyond) return Error{ErrorCode::kNoRoom, refusalText(*beyond)};
  }
  state_.pods.clearNomination(uid);
  if (state == PodState::kNominated) state_.release(uid);
  Nomination nomination{{engine::RequestId(uid), placement, until}, pod.meta.namespace_name};
  // The cache counts devices only.
  nomination.held.placement.cpu = {};
  nomination.held.placement.memory = {};
  const Result<void> nominated =
      state_.pods.transit(uid, {.to = PodState::kNominated, .allocation = &nomination.held});
  if (!nominated) return nominated;
  state_.pods.details(uid).pod = PodRef{pod.meta.namespace_name, pod.meta.name};
  state_.pods.setNomination(uid, std::move(nomination));
  return {};
}

void Reservations::denominate(const std::string& uid) {
  if (!state_.pods.clearNomination(uid)) return;
  // A reservation stays.
  if (state_.pods.stateOf(uid) == PodState::kNominated) state_.release(uid);
}

Result<BindPlan> Reservations::assume(const std::string& uid, const std::string& node,
                                      std::int64_t nanoseconds) {
  if (state_.passed.has(uid)) return BindPlan{node, {}};
  const engine::Allocation* held = state_.pods.allocationOf(uid);
  if (held == nullptr) return unavailable("nothing is reserved for the pod: it expired");
  if (held->placement.node.text != node)
    return unavailable("devices are reserved on " + held->placement.node.text + ", not on " + node);
  const CachedNode* known = state_.nodes.find(node);
  if (known == nullptr) return unavailable("node " + node + " is gone");
  const PodEntry& entry = *state_.pods.find(uid);
  if (entry.state == PodState::kAssumed) return unavailable("the pod is being bound");
  const ContainerList none;
  const ContainerList& list =
      entry.details.containers == nullptr ? none : *entry.details.containers;
  engine::Placement given = held->placement;
  const Result<void> cores = state_.pods.assignCores(uid, list.ends, known->devices, &given);
  if (!cores) return cores.error();
  PodChange change{.to = PodState::kAssumed};
  // A nomination is not charged; the pod's devices are.
  if (entry.state == PodState::kNominated)
    change.charge = QuotaCharge{entry.nomination->namespace_name, state_.amountsOf(given, nullptr)};
  const Result<void> assumed = state_.pods.transit(uid, std::move(change));
  if (!assumed) return assumed.error();
  BindPlan plan{node, annotationsOf(given, known->devices, list.containers, nanoseconds),
                kindsOf(given, known->devices)};
  plan.annotations.emplace(kube::kDecidedKey, kube::encodeDecided(list.for_agents));
  return plan;
}

void Reservations::finishBinding(const std::string& uid, BindOutcome end) {
  const PodState state = state_.pods.stateOf(uid);
  const bool unknown = state == PodState::kAssumedUnknownNode;
  // The pod was removed meanwhile, or the watch of pods decided.
  if (state != PodState::kAssumed && !unknown) return;
  if (end == BindOutcome::kRefused) {
    state_.release(uid);
    state_.pods.restoreNomination(uid);
    return;
  }
  PodState to = end == BindOutcome::kUncertain ? PodState::kUncertain : PodState::kBound;
  if (unknown) to = onUnknownNode(to);
  if (to == PodState::kBound && state_.plugin_pods.find(uid) != nullptr) to = PodState::kCounted;
  if (end == BindOutcome::kBound) state_.pods.clearNomination(uid);
  const Result<void> ended = state_.pods.transit(uid, {.to = to});
  (void)ended;  // the table has both
}

}  // namespace divvy::scheduler
