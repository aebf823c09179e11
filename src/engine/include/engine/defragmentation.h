// Which allocations could be moved to free whole devices or nodes. Only plans: nothing is moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/allocation.h"
#include "engine/request.h"

namespace divvy::engine {

// In thousandths of a device.
struct Usage {
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  std::int64_t idle = 0;  // may still be given
  double fragmented = 0;  // part of `idle` that the target is expected to be unable to use
};

// The cost of moving a request.
struct MoveCost {
  // The request's shape, which holds at its new place too. None: the shape with which it asked this
  // engine. It is unknown for adopted allocations, which then stay.
  std::optional<Shape> shape;
  UserName user = {};          // the requester
  std::int64_t work_lost = 0;  // in the caller's unit; at least 0
  std::string group;   // a move interrupts the whole group, once; empty: only the request itself
  std::string budget;  // of interruptions; empty: none
};

enum class DefragmentationGoal : std::uint8_t {
  kDevices,        // most devices without tenants
  kNodes,          // most nodes without tenants
  kFragmentation,  // least capacity that the target is expected to be unable to use
  kRoom,           // a request fits a number of times
};

struct DefragmentationOptions {
  DefragmentationGoal goal = DefragmentationGoal::kDevices;
  std::map<RequestId, MoveCost> of;             // requests that may move; all others stay
  std::map<std::string, std::int64_t> budgets;  // interruptions left of each budget; missing: 0
  std::size_t most_moves = 64;
  Shape room = {};        // of kRoom; without a user
  std::size_t times = 1;  // of kRoom
};

struct Move {
  RequestId id;
  Placement from;
  Placement to;
};

struct DeviceAt {
  NodeName node;
  DeviceUuid uuid;
  friend auto operator<=>(const DeviceAt&, const DeviceAt&) = default;
};

struct DefragmentationPlan {
  // Each request moves at most once. In this order each move has room when its turn comes, after
  // its request has left its old place. No move waits for a later one, or needs a place in between.
  // Without any one of them the gain is smaller, or a later move has no room.
  std::vector<Move> moves;
  std::vector<DeviceAt> freed;  // with tenants before and none after; ascending
  std::vector<DeviceAt> taken;  // without tenants before and with some after; ascending
  std::vector<NodeName> nodes_freed, nodes_taken;  // the same for nodes; ascending
  Usage before, after;
  std::size_t fits_before = 0, fits_after = 0;  // of kRoom: how many times, at most `times`
  std::int64_t work_lost = 0;
  std::size_t interrupted = 0;     // requests that move, and their groups
  std::vector<RequestId> unknown;  // may move, but their shapes are not known; ascending
};

}  // namespace divvy::engine
