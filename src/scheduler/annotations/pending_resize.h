// A change of what a pod's containers have that was admitted and is not done yet. Pure. Private.
#pragma once

#include <optional>

#include "kube/pod.h"
#include "kube/resize_request.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// What can be changed: shares of the devices that our own agents hand out. Null: not placed here.
inline const vendors::Kind* changeableKind(const vendors::Catalog& catalog) {
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->name == "NVIDIA" && kind->wire.placed()) return kind;
  return nullptr;
}

// Written by us: what cannot be read is none.
inline std::optional<kube::ResizeState> pendingChange(const kube::Pod& pod) {
  const auto said = pod.meta.annotations.find(kube::kChangeStateKey);
  if (said == pod.meta.annotations.end()) return std::nullopt;
  Result<kube::ResizeState> state = kube::decodeChangeState(said->second);
  if (!state || state->phase != kube::ResizePhase::kAdmitted) return std::nullopt;
  return std::move(*state);
}

}  // namespace divvy::scheduler
