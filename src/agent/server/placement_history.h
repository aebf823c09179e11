// What was asked of this agent's placement, what it answered, and what it knew then: for
// `divvy snapshot`. In memory and bounded; a successor begins anew.
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
  // `placing` outlives it.
  PlacementHistory(std::string node, const PlacementOptions& placing)
      : node_(std::move(node)), placing_(placing) {}

  // For a request that is no tenant, or not yet.
  std::string newId() { return "ask-" + std::to_string(++last_); }

  void decided(const PlacementInput& input, Bytes host_reserve, const RunRequest& request,
               const Decision& decision, snapshot::Outcome outcome, const std::string& id);

  // As things are now. Without command lines and environment; names of tenants are in it.
  snapshot::Snapshot snapshot(const TenantManager& tenants, const WaitQueue& queue);

 private:
  void note(const PlacementInput& input, Bytes host_reserve);
  std::vector<engine::Allocation> here(const PlacementInput& input) const;

  // What can never be right is in no history: nothing was decided.
  bool right(const engine::Request& request) const;
  std::optional<engine::Shape> shapeOf(const TenantRecord& record) const;

  std::string node_;
  const PlacementOptions& placing_;
  std::uint64_t last_ = 0;
  snapshot::Recorder recorder_;
};

}  // namespace divvy::agent
