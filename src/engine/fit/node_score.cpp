#include "fit/node_score.h"

#include <algorithm>

namespace divvy::engine {
namespace {

constexpr std::int64_t kMaxPoints = 2000;  // losses and scores are subtracted from it
constexpr std::int64_t kPointsOfBubble = 1000;
// A linked pair that it gets counts so many times as much as a torn pair.
constexpr std::int64_t kGotByTorn = 10;
constexpr std::uint32_t kLevels = 256;

DeviceSet setOf(const Wing& wing) {
  DeviceSet set = 0;
  for (const std::uint32_t place : wing.places) set |= only(place);
  return set;
}

std::int64_t linked(const Topology& topology, DeviceSet a, DeviceSet b) {
  std::int64_t pairs = 0;
  for (DeviceSet left = a; left != 0; left &= left - 1) {
    const unsigned device = firstOf(left);
    pairs += sizeOf(topology.direct(device) & b & ~only(device));
  }
  return pairs;
}

NodeScores::Pairs pairsOf(const Topology& topology, DeviceSet got, DeviceSet free) {
  NodeScores::Pairs pairs;
  const std::int64_t count = sizeOf(got);
  pairs.of = count * (count - 1) / 2;
  pairs.got = linked(topology, got, got) / 2;
  pairs.torn = linked(topology, got, free & ~got);
  return pairs;
}

// The largest number of devices of `got` that are linked with one of them, itself included.
std::int64_t togetherOf(const Topology& topology, DeviceSet got, std::uint32_t points) {
  std::int64_t most = 0;
  for (DeviceSet left = got; left != 0; left &= left - 1)
    most = std::max<std::int64_t>(most, sizeOf(topology.direct(firstOf(left)) & got));
  return std::int64_t{points} * 1'000'000 * most / sizeOf(got);
}

std::int64_t at(const std::vector<ByCount>& by_count, std::uint32_t devices) {
  const auto found = std::find_if(by_count.begin(), by_count.end(),
                                  [&](const ByCount& one) { return one.devices == devices; });
  return found == by_count.end() ? 0 : found->value;
}

// Level of `value` in 0 to `most`; a value outside is clamped.
std::uint32_t levelOf(std::int64_t value, std::int64_t most) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, most) * (kLevels - 1) /
                                    most);
}

}  // namespace

std::int64_t bubblesOf(const std::vector<Wing>& wings, DeviceSet used) {
  std::int64_t sum = 0;
  bool any = false;
  for (const Wing& wing : wings) {
    const std::size_t in_use = sizeOf(setOf(wing) & used);
    any |= in_use > 0;
    if (in_use != wing.places.size()) sum += in_use == 1 ? 2 : 1;
  }
  return any ? sum : 1;
}

NodeScores nodeScoresOf(const HotState& state, Slot slot, const CandidateDevices& gain) {
  const ColdNode& cold = state.cold[slot];
  const std::vector<Device>& devices = cold.node.devices;
  const std::uint32_t first = state.node.first[slot];
  NodeScores merits;
  for (const NodeScore& merit : cold.node.merits) {
    DeviceSet mine = 0, used = 0;
    for (unsigned i = 0; i < devices.size(); ++i) {
      if (devices[i].kind != merit.kind) continue;
      mine |= only(i);
      if (state.device.tenants[first + i] > 0 || state.device.closed[first + i] != kOpen)
        used |= only(i);
    }
    const DeviceSet got = gain.whole & mine;
    if (got == 0) continue;
    const std::uint32_t count = sizeOf(got);
    if (!merit.losses.empty()) merits.loss = merits.loss.value_or(0) + at(merit.losses, count);
    if (!merit.scores.empty()) merits.score = merits.score.value_or(0) + at(merit.scores, count);
    if (!merit.wings.empty())
      merits.bubbles = bubblesOf(merit.wings, used | got) - bubblesOf(merit.wings, used);
    merits.together += togetherOf(cold.topology, got, merit.together);
    if (merit.links && gain.links) merits.pairs = pairsOf(cold.topology, got, mine & ~used);
  }
  return merits;
}

std::int64_t hamiPoints(const NodeScores& merits, Policy policy) {
  std::int64_t points = 0;
  const auto& stated = policy == Policy::kSpread ? merits.score : merits.loss;
  if (stated) points += kMaxPoints - *stated;
  if (merits.bubbles)
    points += *merits.bubbles < -1 || *merits.bubbles > 2
                  ? kPointsOfBubble
                  : kMaxPoints - kPointsOfBubble * *merits.bubbles;
  return points;
}

std::int64_t hamiLinkPoints(const NodeScores& merits, Policy policy) {
  if (!merits.pairs) return 0;
  const std::int64_t points = kLinkUnit * (kGotByTorn * merits.pairs->got - merits.pairs->torn);
  return policy == Policy::kSpread ? -points : points;
}

std::uint32_t meritLevel(const NodeScores& merits, Policy policy) {
  std::uint32_t level = 0;
  if (policy == Policy::kSpread && merits.score) {
    level = levelOf(*merits.score, kMaxPoints);
  } else if (merits.loss) {
    level = levelOf(kMaxPoints - *merits.loss, kMaxPoints);
  }
  if (merits.bubbles) level = std::max(level, levelOf(2 - *merits.bubbles, 3));
  if (merits.pairs) {
    // The upper half of the level is for pairs that it gets, the lower half for torn pairs.
    const std::uint32_t got =
        merits.pairs->of == 0
            ? 15
            : static_cast<std::uint32_t>(15 * merits.pairs->got / merits.pairs->of);
    const auto torn = static_cast<std::uint32_t>(std::min<std::int64_t>(merits.pairs->torn, 15));
    level = std::max(level, got << 4 | (15 - torn));
  }
  return level;
}

}  // namespace divvy::engine
