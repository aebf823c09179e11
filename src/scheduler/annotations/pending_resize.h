// A resize that is admitted and not done yet. Pure. Private.
#pragma once

#include <optional>

#include "kube/pod.h"
#include "kube/renamed_annotation.h"
#include "kube/resize_request.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Returns the device kind with shares that can be resized: that of Divvy's own agents. Null: the
// scheduler does not place it.
inline const vendors::Kind* changeableKind(const vendors::Catalog& catalog) {
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->name == "NVIDIA" && kind->wire.placed()) return kind;
  return nullptr;
}

// Returns the pod's admitted resize; none: there is none. Only the scheduler writes the annotation,
// so an unreadable one counts as none.
inline std::optional<kube::ResizeState> pendingChange(const kube::Pod& pod) {
  const std::string* said = kube::findRenamed(pod.meta.annotations, kube::kResizeStateKey);
  if (said == nullptr) return std::nullopt;
  Result<kube::ResizeState> state = kube::decodeChangeState(*said);
  if (!state || state->phase != kube::ResizePhase::kAdmitted) return std::nullopt;
  return std::move(*state);
}

}  // namespace divvy::scheduler
