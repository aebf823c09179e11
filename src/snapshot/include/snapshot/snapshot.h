// The state of placement of a cluster or of one machine: nodes, allocations, pending requests, and
// recent requests with their decisions. It suffices to repeat each decision.
//
// Instants are milliseconds since 1970. A larger priority is higher; agents use -1, 0 and 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/allocation.h"
#include "engine/config.h"
#include "engine/model.h"
#include "engine/pool.h"
#include "engine/request.h"

namespace divvy::snapshot {

// The version of the schema, which docs/reference/snapshot.md describes. A change that an older
// reader would misread gets another number.
inline constexpr std::int64_t kVersion = 1;

// An allocation, with facts about its holder.
struct HeldAllocation {
  engine::Allocation allocation;
  std::string name;  // for users; empty: none
  std::int64_t priority = 0;
  engine::Instant since;
  std::optional<engine::Shape> shape;  // the request that would get it now; none: not known
  engine::UserName user;               // the requester; empty: not known
};

// A pending request. Lists hold the next one first.
struct PendingRequest {
  engine::Request request;
  std::string name;
  std::int64_t priority = 0;
  engine::Instant since;
  std::string reason;  // why it waits, as it was reported
};

enum class RequestOutcome : std::uint8_t { kPlaced, kQueued, kRefused };

// A request and its decision.
struct RequestEvent {
  engine::Request request;
  std::int64_t priority = 0;
  RequestOutcome outcome = RequestOutcome::kRefused;
  // The decision. A queued request has one if it fits and waits behind other requests. None: it
  // fits nowhere.
  std::optional<engine::Placement> placement;
  std::string reason;  // why it was not placed, as it was reported
};
// A node appeared or changed; the node's new state.
struct NodeUpdated {
  engine::Node node;
};
// A node is gone, with its allocations.
struct NodeRemoved {
  engine::NodeName node;
};
// An allocation appeared or changed: placed by an earlier RequestEvent, resized, or recovered.
struct AllocationUpdated {
  engine::Allocation allocation;
};
// An allocation has ended.
struct AllocationReleased {
  engine::RequestId id;
};

// An instant and one event.
struct HistoryEntry {
  engine::Instant at;
  std::variant<RequestEvent, NodeUpdated, NodeRemoved, AllocationUpdated, AllocationReleased> what;
};

// The events that led to a snapshot, in order, with the nodes and allocations before the first one.
// A RequestEvent comes before the events that it causes.
struct History {
  std::vector<engine::Node> nodes;
  std::vector<engine::Allocation> allocations;
  std::vector<HistoryEntry> entries;
  std::uint64_t dropped = 0;  // number of older requests that were not kept
};

// A whole snapshot. A value.
struct Snapshot {
  std::string written_by;  // "divvy 0.1.0"
  engine::Instant written_at;
  bool redacted = false;  // names are numbers
  engine::Config config;
  std::vector<engine::Pool> pools;  // unchanged in all of the history
  std::vector<engine::Node> nodes;
  std::vector<HeldAllocation> allocations;
  std::vector<PendingRequest> pending;
  History history;
};

}  // namespace divvy::snapshot
