// Keys of requests that state their use by hour: among equally good nodes the lowest peak of the
// devices wins.
#include <algorithm>

#include "fit/usage_profile.h"
#include "score/policies.h"

namespace divvy::engine {
namespace {

// Bits of a key from the top: no peak above `avoid_above`; the policy's key; how low the peak is.
constexpr unsigned kCalmBit = kMetShift - 1;
constexpr RankingKey kCalm = RankingKey{1} << kCalmBit;
static_assert(kWholeUse + 1 < RankingKey{1} << (kCalmBit - kPeakBits));

}  // namespace

Scorer::CandidateUse Scorer::getOne(const ShapeClass& shape, Slot slot, std::uint8_t device) const {
  const DeviceDemand& demand = shape.containers().front();
  CandidateUse use;
  use.count = 1;
  use.devices[0] = device;
  use.compute[0] = demand.compute;
  use.memory[0] = peakUseOf(demand, state_, state_.node.first[slot] + device).memory;
  return use;
}

// The highest peak of its devices.
std::uint32_t Scorer::peakWith(const ShapeClass& shape, Slot slot, const CandidateUse& use) const {
  const ColdNode& cold = state_.cold[slot];
  std::uint32_t highest = 0;
  for (std::size_t k = 0; k < use.count; ++k) {
    highest = std::max(highest, peakOn(cold, use.devices[k], shape, use.compute[k], use.memory[k]));
  }
  return highest;
}

RankingKey Scorer::withPeak(const ShapeClass& shape, Slot slot, RankingKey key,
                            const CandidateUse& use) const {
  if (!shape.byDay()) return key;
  const std::uint32_t peak = peakWith(shape, slot, use);
  const std::uint32_t level = shape.daily().ties ? kPeakLevels - 1 - peakLevelOf(peak) : 0;
  return (isCalm(shape, peak) ? kCalm : 0) | key << kPeakBits | level;
}

RankingKey Scorer::withoutPeak(const ShapeClass& shape, RankingKey key) {
  return shape.byDay() ? (key & (kCalm - 1)) >> kPeakBits : key;
}

// Returns the device with the lowest peak among the first candidate and those with equal free
// capacity; among equals the first. Devices with a peak above `avoid_above` are last.
std::uint8_t Scorer::calmest(const ShapeClass& shape, Slot slot,
                             const Candidates& candidates) const {
  const std::uint32_t hot = state_.node.first[slot];
  const HotDevices& device = state_.device;
  const auto alike = [&](std::uint8_t a, std::uint8_t b) {
    const std::uint32_t x = hot + a;
    const std::uint32_t y = hot + b;
    return device.compute_free[x] == device.compute_free[y] &&
           device.memory_free[x] == device.memory_free[y] &&
           device.slots_free[x] == device.slots_free[y] &&
           device.memory_total[x] == device.memory_total[y] && device.model[x] == device.model[y];
  };
  std::uint8_t best = candidates.at[0];
  std::uint8_t first = best;
  std::uint32_t lowest = UINT32_MAX;
  bool is_calm = false;
  for (std::size_t k = 0; k < candidates.count; ++k) {
    const std::uint8_t i = candidates.at[k];
    if (is_calm && !alike(first, i)) continue;
    const std::uint32_t peak = peakWith(shape, slot, getOne(shape, slot, i));
    const bool good = isCalm(shape, peak);
    const std::uint32_t level = shape.daily().ties ? peakLevelOf(peak) : 0;
    if (good && !is_calm) {
      first = best = i;
      lowest = level;
      is_calm = true;
    } else if (good == is_calm && level < lowest && alike(first, i)) {
      best = i;
      lowest = level;
    }
  }
  return best;
}

}  // namespace divvy::engine
