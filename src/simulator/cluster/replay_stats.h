// How much of an engine's devices is in use, and how much of the rest is of use. Private.
#pragma once

#include <map>

#include "engine/engine.h"
#include "simulator/replay.h"

namespace divvy::simulator {

// Requests that are expected, with how many of each there are.
struct ExpectedRequest {
  engine::Shape shape;
  engine::UserName user;
  friend auto operator<=>(const ExpectedRequest&, const ExpectedRequest&) = default;
};
using Expected = std::map<ExpectedRequest, std::uint32_t>;

// What those that are there, and those that wait, ask for.
Expected expectedOf(const snapshot::Snapshot& snapshot);
// As fragmentation of compute is measured against.
engine::Target targetOf(const Expected& expected);
CapacityStats figuresOf(const engine::Engine& engine, const std::vector<engine::Node>& nodes,
                        const Expected& expected);

}  // namespace divvy::simulator
