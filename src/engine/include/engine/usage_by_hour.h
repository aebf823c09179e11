// Expected use of a request over the day, so that requests with different busy hours share devices;
// and the overcommit that observed use allows. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace divvy::engine {

inline constexpr std::size_t kHours = 24;
inline constexpr std::uint32_t kAllOfIt = 1000;

// Thousandths of the requested memory and compute of a device that are expected to be used in each
// hour; at most 1000. A request without it is taken to use all of it all day.
struct UsageByHour {
  std::array<std::uint16_t, kHours> permille{};
  friend auto operator<=>(const UsageByHour&, const UsageByHour&) = default;
};

// Returns the nearest of a few dozen typical curves. A curve is flat at some height, or rises from
// one height to another and back with the peak at one of eight hours. Decisions use typical curves,
// so that requests that differ little have the same shape.
UsageByHour typical(const UsageByHour& daily);

// How expected use affects placement. The peak of a device is its highest expected use in any hour,
// of compute or memory, whichever is more.
struct UsageByHourPolicy {
  // Among otherwise equal devices and nodes, the lowest resulting peak goes first, in steps of 1/32
  // of a device.
  bool ties = false;
  // Devices and nodes with a resulting peak above this (thousandths of a device) go after all
  // others, however good. They are still taken if nothing else fits. 0: off.
  std::uint32_t avoid_above = 0;
};
inline constexpr std::uint32_t kMaxPeak = 4000;

// The use and the promised amounts of one device's tenants at one instant.
struct ObservedUse {
  Bytes used;
  Bytes promised;
};
// Returns how much may be promised, in thousandths of `memory`, 1000 to 4000. With it the memory
// that is used at once fits in 95 of 100 cases as observed, and promises beyond `memory` fit into
// `host`. 1000 if nothing was seen or promised.
std::uint32_t safeOvercommit(std::span<const ObservedUse> seen, Bytes memory, Bytes host);

}  // namespace divvy::engine
