// What could be moved so that whole devices or nodes come free. Only a plan: nothing here moves.
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
  std::int64_t idle = 0;  // what may still be given
  double fragmented = 0;  // of `idle`: what the target is expected to be unable to use
};

// What it costs to move a request.
struct MoveTerms {
  // What it asked for, which holds where it goes too. None: what it asked this engine for; of who
  // was adopted that is not known, and it stays.
  std::optional<Shape> shape;
  UserName user = {};          // who asked
  std::int64_t work_lost = 0;  // in the caller's unit; at least 0
  std::string group;           // who moves interrupts all of it, once; empty: only itself
  std::string budget;          // of interruptions; empty: none
};

enum class DefragmentationGoal : std::uint8_t {
  kDevices,        // as many devices with nobody on them as can be
  kNodes,          // as many nodes with nobody on them
  kFragmentation,  // the least that the target is expected to be unable to use
  kRoom,           // a request fits so many times
};

struct DefragmentationTerms {
  DefragmentationGoal goal = DefragmentationGoal::kDevices;
  std::map<RequestId, MoveTerms> of;            // who may move; all others stay
  std::map<std::string, std::int64_t> budgets;  // interruptions each still allows; absent: 0
  std::size_t most_moves = 64;
  Shape room = {};        // of kRoom; nobody in particular asks
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
  // Nobody moves twice. In this order each has room when its turn comes, once it has left where it
  // was: nothing waits for a later move, or needs a place in between. Without any of them less is
  // won, or a later one has no room.
  std::vector<Move> moves;
  std::vector<DeviceAt> freed;  // with somebody on them before and nobody after; ascending
  std::vector<DeviceAt> taken;  // the other way round
  std::vector<NodeName> nodes_freed, nodes_taken;  // likewise
  Usage before, after;
  std::size_t fits_before = 0, fits_after = 0;  // of kRoom: how many times, `times` at most
  std::int64_t work_lost = 0;
  std::size_t interrupted = 0;     // who moves, and their groups
  std::vector<RequestId> unknown;  // may move, but what they asked for is not known; ascending
};

}  // namespace divvy::engine
