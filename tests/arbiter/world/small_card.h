// Tenants that swap on a small card, and what they got.
#pragma once

#include <algorithm>
#include <vector>

#include "world/memory.h"

namespace divvy::arbiter::world {

inline constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

// The card of the benches: 480 MiB, 0.8 GB/s both ways at once.
inline MemorySettings smallCard() {
  MemorySettings settings;
  settings.device.budget = 480 * kMib;
  settings.device.host_reserve = 4 * kGib;
  settings.device.swap_cost = {0.8e9, 0.8e9, 0, kMillisecond, 2 * kMib};
  return settings;
}

inline ResidencyEntitlement terms(std::uint64_t ceiling, std::uint64_t guarantee = 0,
                                  PriorityClass cls = PriorityClass::kNormal) {
  ResidencyEntitlement result;
  result.cls = cls;
  result.ceiling[0] = ceiling;
  result.guarantee[0] = guarantee;
  result.base[0] = std::min(8 * kMib, ceiling);
  return result;
}

// Tenants of one size that always want to run.
inline void addBatch(MemoryWorld* world, unsigned count, std::uint64_t each) {
  for (unsigned i = 0; i < count; ++i) {
    Swapper& swapper = world->add(terms(2 * each));
    world->pin(&swapper, 8 * kMib);
    world->allocate(&swapper, each);
    world->run(&swapper, kNever);
  }
}

inline double used(MemoryWorld& world, Nanos from, const std::vector<Nanos>& before) {
  Nanos sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += world.swappers()[i]->ran - before[i];
  return static_cast<double>(sum) / static_cast<double>(world.now() - from);
}

inline std::vector<Nanos> ranSoFar(MemoryWorld& world) {
  std::vector<Nanos> ran;
  for (const auto& swapper : world.swappers()) ran.push_back(swapper->ran);
  return ran;
}

}  // namespace divvy::arbiter::world
