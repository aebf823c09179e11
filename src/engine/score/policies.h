// How good a node is for a request: larger is better, 0 is: will not do.
#pragma once

#include <cstdint>

#include "engine/allocation.h"
#include "fit/fit.h"
#include "fit/fragment.h"
#include "fit/plan.h"

namespace divvy::engine {

using Key = std::uint32_t;
inline constexpr Key kWholeUse = 1'000'000;  // what kBinpack, kSpread and kWeighted count in
// Above all keys of policies: how many of the wishes for groups of devices a node meets; between
// them, except where days or HAMi's scores count, what meritLevel() says.
inline constexpr unsigned kMetShift = 28;
inline constexpr unsigned kMeritShift = 20;
static_assert(kWholeUse + 1 < Key{1} << kMeritShift);

// Of a request with no more than one container that asks for devices.
struct Choice {
  Key key = 0;
  Picked picked;
  bool put_off = false;  // groups of devices were not looked at: the budget was spent
};

class Scorer {
 public:
  Scorer(const HotState& state, const FragmentTable& fragments)
      : state_(state), fragments_(fragments) {}

  struct Keyed {
    Key key = 0;
    PlanEnd end = PlanEnd::kNoWay;  // kPlaced: it fits, or no search was needed to tell
  };
  Keyed key(const ShapeClass& shape, Slot slot, SearchPass& pass) const;
  // The policy's score, 0 to 100, of a key that is not 0.
  static std::uint32_t scoreOf(const ShapeClass& shape, Key key);
  // As HAMi adds it up, in millionths of a point: of a key that is not 0 of such a shape.
  static std::int64_t hamiScoreOf(const ShapeClass& shape, Key key);
  static bool byHami(const ShapeClass& shape);
  // What exactly it would be given there; `draw` chooses for Policy::kRandom. It has to fit.
  Placement placement(const ShapeClass& shape, Slot slot, std::uint64_t draw) const;

 private:
  struct After;
  Choice simple(const ShapeClass& shape, Slot slot, SearchPass& pass) const;
  Choice grouped(const ShapeClass& shape, Slot slot, const Candidates& candidates,
                 SearchPass& pass) const;
  Key keyOf(const ShapeClass& shape, Slot slot, const Picked& picked, unsigned met) const;
  Choice fgdPart(const ShapeClass& shape, Slot slot, const Candidates& candidates) const;
  // The devices it would get, and what of each.
  struct Get {
    std::size_t count = 0;
    std::array<std::uint8_t, kMaxDevicesPerNode> devices;
    std::array<std::int32_t, kMaxDevicesPerNode> compute;
    std::array<std::int64_t, kMaxDevicesPerNode> memory;  // only for those that count what is used
  };
  Key keyAfter(const ShapeClass& shape, Slot slot, const Get& get) const;
  Get getOne(const ShapeClass& shape, Slot slot, std::uint8_t device) const;
  // Of requests that go by the day: their keys with the peaks of those devices, and back.
  Key withPeak(const ShapeClass& shape, Slot slot, Key key, const Get& get) const;
  static Key withoutPeak(const ShapeClass& shape, Key key);
  std::uint32_t peakWith(const ShapeClass& shape, Slot slot, const Get& get) const;
  std::uint8_t calmest(const ShapeClass& shape, Slot slot, const Candidates& candidates) const;
  Key keyOf(const ShapeClass& shape, Slot slot, const Plan& plan) const;
  static std::uint32_t usedScore(const ShapeClass& shape, Key key);
  Key usedKey(const ShapeClass& shape, Slot slot, const Get& get) const;
  Key hamiKey(const ShapeClass& shape, Slot slot, const Get& get) const;
  // Of HAMi's points, what the devices are worth that it would get.
  Key withMerit(const ShapeClass& shape, Slot slot, Key key, const Get& get) const;
  DeviceSet wholeOf(Slot slot, const Get& get) const;
  std::uint32_t packing(Slot slot, const std::uint8_t* devices, std::size_t count) const;
  std::uint32_t clustering(const ShapeClass& shape, Slot slot) const;
  std::uint32_t dotProduct(const ShapeClass& shape, Slot slot) const;
  std::uint32_t bestFit(const ShapeClass& shape, Slot slot) const;
  Key fullness(const ShapeClass& shape, Slot slot) const;
  Key fragmentKey(const ShapeClass& shape, Slot slot, const std::int32_t* after) const;

  const HotState& state_;
  const FragmentTable& fragments_;
};

}  // namespace divvy::engine
