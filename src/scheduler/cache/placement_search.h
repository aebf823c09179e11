// Where a request fits, within the quota of its namespace, and why not elsewhere. Private.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cache/cache_state.h"
#include "engine/compact_refusal.h"
#include "engine/decision.h"
#include "engine/request.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// A placement; or none, and then why the quota refuses one that would fit (empty: none fits).
struct QuotaDecision {
  std::optional<engine::Placement> placement;
  std::string beyond;
};

// Errors are those of Engine::decide().
class PlacementSearch {
 public:
  using Names = std::span<const std::string_view>;

  // `state` outlives it.
  explicit PlacementSearch(CacheState& state) : state_(state) {}

  // Decides within the quota of the namespace. `names`: null: all nodes.
  Result<QuotaDecision> withinQuota(const engine::Request& request, const Names* names);
  // Decides for one node, whatever the quota. None: the request does not fit it now.
  Result<std::optional<engine::Placement>> onNode(const engine::Request& request,
                                                  std::string_view node) const;
  // Returns why the quota of the namespace refuses the placement; none: it does not.
  std::optional<std::string> beyondQuota(const engine::Request& request,
                                         const engine::Placement& placement) const;
  // Adds to `choice` the nodes in `names` that fit, and why each other node does not.
  Result<void> explain(const engine::Request& request, Names names, FilterResult* choice) const;

 private:
  Result<std::optional<engine::Placement>> among(const engine::Request& request, Names names) const;
  std::optional<Reason> upgradeOn(std::string_view node, const engine::CompactRefusal& brief) const;

  CacheState& state_;
};

}  // namespace divvy::scheduler
