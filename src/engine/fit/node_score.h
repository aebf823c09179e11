// Scores of the devices that a request would get together, from the scores that a node states for
// its device kinds. As HAMi's points, and as a level for the engine's own policies. Source: facts
// on the incumbent's control plane, 3 and 7.1 (U9, U16). Private.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/policy.h"
#include "nodes/hot_state.h"

namespace divvy::engine {

// The devices of a node that a request would get.
struct CandidateDevices {
  DeviceSet whole = 0;  // devices that it gets whole
  bool links = false;   // the request prefers or requires links
};

// None: the node states nothing about what the request gets.
struct NodeScores {
  // for the number of devices, less is better; 0 if only other numbers are stated
  std::optional<std::int64_t> loss;
  std::optional<std::int64_t> score;  // like `loss`, but more is better
  // Change of bubblesOf() by this request: -1 to 2, less is better.
  std::optional<std::int64_t> bubbles;
  struct Pairs {
    std::int64_t got = 0, of = 0;  // linked pairs of all pairs among the devices that it gets
    std::int64_t torn = 0;  // linked pairs between devices that it gets and devices that stay free
  };
  std::optional<Pairs> pairs;
  std::int64_t together = 0;  // millionths of HAMi's points
};
NodeScores nodeScoresOf(const HotState& state, Slot slot, const CandidateDevices& gain);

// Sum over wings: 0 for a wing that is used up, 2 for one with one device in use, else 1. Returns 1
// if no wing is in use.
std::int64_t bubblesOf(const std::vector<Wing>& wings, DeviceSet used);

// Points that HAMi adds to a node's score, without `together`. Under binpack the highest wins,
// under spread the lowest.
std::int64_t hamiPoints(const NodeScores& merits, Policy policy);
// Points for links: multiples of kLinkUnit, which exceeds all other points of such kinds.
std::int64_t hamiLinkPoints(const NodeScores& merits, Policy policy);
inline constexpr std::int64_t kLinkUnit = 100'000;
// Divisor of link points in keys: they still exceed the points of all use.
inline constexpr std::int64_t kLinkPointsBy = 3125;

// Level for the engine's own policies: 0 to 255, more is better. Only `loss` and `score` depend on
// the policy: spread uses `score`.
std::uint32_t meritLevel(const NodeScores& merits, Policy policy);

}  // namespace divvy::engine
