// What the devices that a request would get are worth together, by what a node tells of its kinds:
// HAMi's points, and a level for the engine's own policies. Source: facts on the incumbent's
// control plane, 3 and 7.1 (U9, U16). Private.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/policy.h"
#include "nodes/hot_state.h"

namespace divvy::engine {

// What it would get of a node.
struct Gain {
  DeviceSet whole = 0;  // devices, all of each
  bool links = false;   // it wishes for links
};

// None: of that the node says nothing for what it gets.
struct NodeScores {
  std::optional<std::int64_t> loss;   // of so many; less is better. Told of others only: 0
  std::optional<std::int64_t> score;  // likewise; more is better
  // Wings that are begun or where one device is left alone, after less before: -1 to 2, less is
  // better.
  std::optional<std::int64_t> bubbles;
  struct Pairs {
    std::int64_t got = 0, of = 0;  // linked, of all among what it gets
    std::int64_t torn = 0;         // between what it gets and what stays free
  };
  std::optional<Pairs> pairs;
  std::int64_t together = 0;  // millionths of HAMi's points
};
NodeScores meritsOf(const HotState& state, Slot slot, const Gain& gain);

// Groups where a single device, or some of all, is used: 0 where it is used up, 2 where one is,
// else 1; all together 1 while none is used.
std::int64_t bubblesOf(const std::vector<Wing>& wings, DeviceSet used);

// What HAMi adds to a node's score, but for `together`: its highest wins by binpack, its lowest by
// spread.
std::int64_t hamiPoints(const NodeScores& merits, Policy policy);
// And for links: multiples of kLinkUnit, which is above all else that there is for such kinds.
std::int64_t hamiLinkPoints(const NodeScores& merits, Policy policy);
inline constexpr std::int64_t kLinkUnit = 100'000;
// Links have this much less of a point in keys: still more than all that is used can have.
inline constexpr std::int64_t kLinkPointsBy = 3125;

// For the engine's own policies: 0 to 255, more is better, whatever the policy but for what there
// is of `loss` and `score` (spread goes by the latter).
std::uint32_t meritLevel(const NodeScores& merits, Policy policy);

}  // namespace divvy::engine
