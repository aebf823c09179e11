// How a request's use goes over the day, so that those who work by day share devices with those who
// work by night; and how much memory may be promised by what was seen. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace divvy::engine {

inline constexpr std::size_t kHours = 24;
inline constexpr std::uint32_t kAllOfIt = 1000;

// Of what a request asks of a device, memory and compute alike, how much it is expected to use in
// each hour: thousandths, all at most. Whoever does not say is taken to use all of it all day.
struct UsageByHour {
  std::array<std::uint16_t, kHours> permille{};
  friend auto operator<=>(const UsageByHour&, const UsageByHour&) = default;
};

// The nearest of a few dozen: level at some height, or from one height to another and back with the
// most at one of eight hours. What is decided for requests goes by these, so that many that differ
// a little are one and the same.
UsageByHour typical(const UsageByHour& daily);

// What is done with it. The peak of a device is the most that is expected to be used of it in any
// hour, of its compute or its memory, whichever is more.
struct UsageByHourPolicy {
  // Among devices and nodes that are equally good otherwise those whose peak would be lowest, in
  // steps of a 32nd of a device.
  bool ties = false;
  // Beyond ties: devices and nodes whose peak would be above that, thousandths of a device, go
  // after all others, however good. 0: none is. They are still taken where there is nothing else.
  std::uint32_t avoid_above = 0;
};
inline constexpr std::uint32_t kMaxPeak = 4000;

// What tenants of one device used at one moment, and what they were promised.
struct SeenUse {
  Bytes used;
  Bytes promised;
};
// So much may be promised, in thousandths of `memory`, that what is used at once fits 95 times of
// 100 as it did in what was seen, and that what is beyond is with the host: 1000 to 4000. Nothing
// seen, or nothing promised: once.
std::uint32_t safeOvercommit(std::span<const SeenUse> seen, Bytes memory, Bytes host);

}  // namespace divvy::engine
