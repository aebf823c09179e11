// A cluster, or one machine, as placement saw it: what there is, who has what of it, who waits, and
// what was asked and answered lately. Enough to decide all of it again.
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

// Of the schema that docs/reference/snapshot.md describes. A change that an older reader would take
// wrongly gets another number.
inline constexpr std::int64_t kVersion = 1;

// Instants are milliseconds since 1970. Of priorities more is higher; agents have -1, 0 and 1.

// Who has something, and what for.
struct HeldAllocation {
  engine::Allocation allocation;
  std::string name;  // what people call it; empty: nothing
  std::int64_t priority = 0;
  engine::Instant since;
  std::optional<engine::Shape> shape;  // as it would have to ask for that now; none: not known
  engine::UserName user;               // likewise
};

// Who waits, the next first.
struct PendingRequest {
  engine::Request request;
  std::string name;
  std::int64_t priority = 0;
  engine::Instant since;
  std::string reason;  // as it was told
};

enum class RequestOutcome : std::uint8_t { kPlaced, kQueued, kRefused };

// Somebody asked.
struct RequestEvent {
  engine::Request request;
  std::int64_t priority = 0;
  RequestOutcome outcome = RequestOutcome::kRefused;
  // What was decided; of who is queued although it fits: others were before it. None: it fitted
  // nowhere.
  std::optional<engine::Placement> placement;
  std::string reason;  // as it was told, where it was not placed
};
// From then on the node is so; a new one, or a known one changed.
struct NodeUpdated {
  engine::Node node;
};
struct NodeRemoved {
  engine::NodeName node;
};
// From then on it has this: placed by an `RequestEvent` before, changed, or found.
struct AllocationUpdated {
  engine::Allocation allocation;
};
struct AllocationReleased {
  engine::RequestId id;
};

struct HistoryEntry {
  engine::Instant at;
  std::variant<RequestEvent, NodeUpdated, NodeRemoved, AllocationUpdated, AllocationReleased> what;
};

// What led here: began with these nodes and allocations, in order. An `RequestEvent` is decided
// before what it led to is entered.
struct History {
  std::vector<engine::Node> nodes;
  std::vector<engine::Allocation> allocations;
  std::vector<HistoryEntry> entries;
  std::uint64_t dropped = 0;  // asks before these that were not kept
};

struct Snapshot {
  std::string written_by;  // "divvy 0.1.0"
  engine::Instant written_at;
  bool redacted = false;  // names are numbers
  engine::Config config;
  std::vector<engine::Pool> pools;  // the same in all of the history
  std::vector<engine::Node> nodes;
  std::vector<HeldAllocation> allocations;
  std::vector<PendingRequest> pending;
  History history;
};

}  // namespace divvy::snapshot
