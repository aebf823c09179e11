// The requests to this agent's placement, its decisions, and its input then: for `divvy snapshot`.
// In memory and bounded; a successor starts empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "placement/wait_queue.h"
#include "snapshot/recorder.h"
#include "snapshot/text.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

class PlacementHistory {
 public:
  // `placing` must outlive the history.
  PlacementHistory(std::string node, const PlacementOptions& placing)
      : node_(std::move(node)), placing_(placing) {}

  // A new ID for a request that is no tenant, or not yet.
  std::string newId() { return "ask-" + std::to_string(++last_); }

  void decided(const PlacementInput& input, Bytes host_reserve, const RunRequest& request,
               const Decision& decision, snapshot::RequestOutcome outcome, const std::string& id);

  // The present state and the history. Without command lines and environment; it has names of
  // tenants.
  snapshot::Snapshot snapshot(const TenantManager& tenants, const WaitQueue& queue);

 private:
  void note(const PlacementInput& input, Bytes host_reserve);
  std::vector<engine::Allocation> here(const PlacementInput& input) const;

  // Whether the request is valid: an invalid request is not recorded, as nothing was decided.
  bool right(const engine::Request& request) const;
  std::optional<engine::Shape> shapeOf(const TenantRecord& record) const;

  std::string node_;
  const PlacementOptions& placing_;
  std::uint64_t last_ = 0;
  snapshot::Recorder recorder_;
};

}  // namespace divvy::agent
