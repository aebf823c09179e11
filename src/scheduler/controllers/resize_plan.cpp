#include "controllers/resize_plan.h"

#include <algorithm>

#include "annotations/share_annotations.h"
#include "kube/assignment.h"
#include "kube/assignment_text.h"
#include "kube/renamed_annotation.h"
#include "share_options/share_options.h"

namespace divvy::scheduler {
namespace {

std::optional<kube::ResizeState> stateOf(const kube::Pod& pod) {
  const std::string* said = kube::findRenamed(pod.meta.annotations, kube::kResizeStateKey);
  if (said == nullptr) return std::nullopt;
  Result<kube::ResizeState> state = kube::decodeChangeState(*said);
  return state ? std::optional(std::move(*state)) : std::nullopt;
}

// Init containers first. Nothing: there is none of that name.
struct Place {
  std::size_t at = 0;
  bool ends = false;
};
std::optional<Place> nodeOf(const kube::Pod& pod, const std::string& name) {
  std::size_t at = 0;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list) {
      if (one.name == name) return Place{at, list == &pod.init && !one.sidecar};
      ++at;
    }
  return std::nullopt;
}

std::string namesOf(const kube::Pod& pod) {
  std::string names;
  for (const kube::PodContainer& one : pod.containers)
    names += (names.empty() ? "" : ", ") + one.name;
  return names;
}

Result<void> checkPriority(const std::string& word) {
  const share_options::ShareOption* term = share_options::ofAnnotation("priority");
  if (word.empty() || term == nullptr) return {};
  return share_options::check(*term, word);
}

}  // namespace

kube::ResizeState refusedChange(const std::string& id, const Error& why) {
  kube::ResizeState state;
  state.id = id;
  state.phase = kube::ResizePhase::kRefused;
  state.reason = kube::changeReason(why);
  state.message = why.message();
  return state;
}

std::optional<RequestedResize> askedChange(const kube::Pod& pod) {
  const std::string* said = kube::findRenamed(pod.meta.annotations, kube::kResizeKey);
  if (said == nullptr) return std::nullopt;
  const std::optional<kube::ResizeState> state = stateOf(pod);
  Result<kube::ResizeRequest> change = kube::decodeShareChange(*said);
  if (change) {
    // One at a time: another request meanwhile waits until this one is settled.
    const bool busy = state && state->phase == kube::ResizePhase::kAdmitted;
    if (busy || (state && state->id == change->id)) return std::nullopt;
    return RequestedResize{std::move(*change), std::nullopt};
  }
  const bool old = pod.meta.annotations.contains(kube::kChangeKey);
  const Error why = std::move(change).error().context(std::string("annotation ") +
                                                      (old ? kube::kChangeKey : kube::kResizeKey));
  const bool told = state && state->id == kUnreadableChange && state->message == why.message();
  if (told) return std::nullopt;
  kube::ResizeRequest none;
  none.id = kUnreadableChange;
  return RequestedResize{std::move(none), why};
}

Result<std::string> assignmentWith(const kube::Pod& pod, const kube::ResizeRequest& change,
                                   const vendors::Kind& kind) {
  if (pod.node.empty() || pod.ended())
    return Error{ErrorCode::kUnavailable, "the pod is not running"};
  const std::optional<Place> place = nodeOf(pod, change.container);
  if (!place)
    return Error{ErrorCode::kNotFound, "the pod has no container \"" + change.container +
                                           "\"; accepted: " + namesOf(pod)};
  if (place->ends)
    return Error{ErrorCode::kUnsupported,
                 "container " + change.container + " is an init container that completes"};
  const auto said = pod.meta.annotations.find(kind.wire.pod.allocated);
  if (said == pod.meta.annotations.end())
    return Error{ErrorCode::kNotFound, "the pod has no share that can be resized"};
  if (!kind.wire.pod.instances.empty() && pod.meta.annotations.contains(kind.wire.pod.instances))
    return Error{ErrorCode::kUnsupported, "it holds hardware partitions (MIG)"};
  if (const Result<void> good = checkPriority(change.priority); !good)
    return Error(good.error()).context("priority");
  Result<kube::Assignment> assignment = kube::decodeAssignment(said->second);
  if (!assignment) return std::move(assignment).error().context(kind.wire.pod.allocated);
  if (place->at >= assignment->size() || (*assignment)[place->at].empty())
    return Error{ErrorCode::kNotFound, "container " + change.container + " has no device"};
  for (kube::AssignedDevice& device : (*assignment)[place->at]) {
    device.mebibytes = change.mebibytes.value_or(device.mebibytes);
    device.cores = change.cores.value_or(device.cores);
  }
  return kube::encode(*assignment);
}

kube::Labels settledBy(const kube::ResizeState& admitted, const kube::ResizeResult& result,
                       const vendors::Kind& kind, const kube::Labels& annotations) {
  kube::ResizeState state;
  state.id = admitted.id;
  state.phase = result.done ? kube::ResizePhase::kDone : kube::ResizePhase::kRefused;
  state.reason = result.reason;
  state.message = result.message;
  kube::Labels written{{kube::kChangeStateKey, kube::encode(state)}};
  if (!result.done) return written;
  written[kind.wire.pod.allocated] = admitted.assignment;
  if (admitted.change.priority.empty()) return written;
  const std::string key = wishKey("priority", admitted.change.container);
  written[key] = admitted.change.priority;
  kube::Labels then = annotations;
  // An unreadable annotation stays as it is: an agent refuses to act on it.
  if (kube::decideWord(key, admitted.change.priority, &then) && then.contains(kube::kDecidedKey))
    written[kube::kDecidedKey] = then.at(kube::kDecidedKey);
  return written;
}

}  // namespace divvy::scheduler
