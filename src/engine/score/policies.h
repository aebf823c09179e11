// The key of a node for a request: larger is better, 0 means that the node does not fit.
#pragma once

#include <cstdint>

#include "engine/allocation.h"
#include "fit/fit.h"
#include "fit/fragment.h"
#include "fit/plan.h"

namespace divvy::engine {

using RankingKey = std::uint32_t;
inline constexpr RankingKey kWholeUse = 1'000'000;  // the unit of kBinpack, kSpread and kWeighted
// Bits of a key from kMetShift up: number of preferences for groups of devices that a node meets.
// From kMeritShift up: meritLevel(), unless use by hour or HAMi's scores count.
inline constexpr unsigned kMetShift = 28;
inline constexpr unsigned kMeritShift = 20;
static_assert(kWholeUse + 1 < RankingKey{1} << kMeritShift);

// For a request in which at most one container asks for devices.
struct DeviceChoice {
  RankingKey key = 0;
  ChosenDevices selected;
  bool put_off = false;  // groups of devices were not searched, because the budget was spent
};

// Keeps references. Const member functions may be called from several threads if the state does not
// change.
class Scorer {
 public:
  Scorer(const HotState& state, const FragmentTable& fragments)
      : state_(state), fragments_(fragments) {}

  struct KeyResult {
    RankingKey key = 0;
    PlanOutcome end = PlanOutcome::kNoWay;  // kPlaced: it fits, or no search was needed to decide
  };
  KeyResult key(const ShapeClass& shape, Slot slot, SearchPass& pass) const;
  // Returns the policy's score, 0 to 100, of a key that is not 0.
  static std::uint32_t scoreOf(const ShapeClass& shape, RankingKey key);
  // Returns HAMi's sum in millionths of a point, of a key that is not 0. Requires byHami(shape).
  static std::int64_t hamiScoreOf(const ShapeClass& shape, RankingKey key);
  static bool byHami(const ShapeClass& shape);
  // Returns the placement on a node that fits. `draw` chooses for Policy::kRandom.
  Placement placement(const ShapeClass& shape, Slot slot, std::uint64_t draw) const;

 private:
  struct After;
  DeviceChoice simple(const ShapeClass& shape, Slot slot, SearchPass& pass) const;
  DeviceChoice grouped(const ShapeClass& shape, Slot slot, const Candidates& candidates,
                       SearchPass& pass) const;
  RankingKey keyOf(const ShapeClass& shape, Slot slot, const ChosenDevices& selected,
                   unsigned met) const;
  DeviceChoice fgdPart(const ShapeClass& shape, Slot slot, const Candidates& candidates) const;
  // The devices that a request would get, and the amounts of each.
  struct CandidateUse {
    std::size_t count = 0;
    std::array<std::uint8_t, kMaxDevicesPerNode> devices;
    std::array<std::int32_t, kMaxDevicesPerNode> compute;
    std::array<std::int64_t, kMaxDevicesPerNode> memory;  // only for policies that count use
  };
  RankingKey keyAfter(const ShapeClass& shape, Slot slot, const CandidateUse& use) const;
  CandidateUse getOne(const ShapeClass& shape, Slot slot, std::uint8_t device) const;
  // For requests with use by hour: adds the peak of these devices to a key, or removes it.
  RankingKey withPeak(const ShapeClass& shape, Slot slot, RankingKey key,
                      const CandidateUse& use) const;
  static RankingKey withoutPeak(const ShapeClass& shape, RankingKey key);
  std::uint32_t peakWith(const ShapeClass& shape, Slot slot, const CandidateUse& use) const;
  std::uint8_t calmest(const ShapeClass& shape, Slot slot, const Candidates& candidates) const;
  RankingKey keyOf(const ShapeClass& shape, Slot slot, const Plan& plan) const;
  static std::uint32_t usedScore(const ShapeClass& shape, RankingKey key);
  RankingKey usedKey(const ShapeClass& shape, Slot slot, const CandidateUse& use) const;
  RankingKey hamiKey(const ShapeClass& shape, Slot slot, const CandidateUse& use) const;
  // Adds the level or points of the devices that it would get.
  RankingKey withMerit(const ShapeClass& shape, Slot slot, RankingKey key,
                       const CandidateUse& use) const;
  DeviceSet wholeOf(Slot slot, const CandidateUse& use) const;
  std::uint32_t packing(Slot slot, const std::uint8_t* devices, std::size_t count) const;
  std::uint32_t clustering(const ShapeClass& shape, Slot slot) const;
  std::uint32_t dotProduct(const ShapeClass& shape, Slot slot) const;
  std::uint32_t bestFit(const ShapeClass& shape, Slot slot) const;
  RankingKey fullness(const ShapeClass& shape, Slot slot) const;
  RankingKey fragmentKey(const ShapeClass& shape, Slot slot, const std::int32_t* after) const;

  const HotState& state_;
  const FragmentTable& fragments_;
};

}  // namespace divvy::engine
