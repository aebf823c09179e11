#include "engine/usage_by_hour.h"

#include <algorithm>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {
namespace {

constexpr std::uint16_t kHeights[] = {0, 250, 500, 750, 1000};
constexpr std::size_t kPeakEvery = 3;  // hours
// Half a cosine in thousandths, by hours from the peak. Literals, so that it is the same on every
// machine.
constexpr std::int64_t kWave[kHours] = {1000, 983, 933, 854, 750, 629, 500, 371,
                                        250,  146, 67,  17,  0,   17,  67,  146,
                                        250,  371, 500, 629, 750, 854, 933, 983};
constexpr std::uint32_t kMaxOvercommit = 4000;

UsageByHour wave(std::int64_t trough, std::int64_t peak, std::size_t at) {
  UsageByHour result;
  for (std::size_t hour = 0; hour < kHours; ++hour) {
    const std::int64_t high = kWave[(hour + kHours - at) % kHours];
    result.permille[hour] = static_cast<std::uint16_t>(trough + (peak - trough) * high / 1000);
  }
  return result;
}

std::vector<UsageByHour> typicalOnes() {
  std::vector<UsageByHour> all;
  for (const std::uint16_t peak : kHeights) {
    for (const std::uint16_t trough : kHeights) {
      if (trough > peak) break;
      for (std::size_t at = 0; at < kHours; at += kPeakEvery) {
        all.push_back(wave(trough, peak, at));
        if (trough == peak) break;
      }
    }
  }
  return all;
}

std::int64_t distance(const UsageByHour& a, const UsageByHour& b) {
  std::int64_t sum = 0;
  for (std::size_t hour = 0; hour < kHours; ++hour) {
    const std::int64_t by = std::int64_t{a.permille[hour]} - b.permille[hour];
    sum += by * by;
  }
  return sum;
}

}  // namespace

UsageByHour typical(const UsageByHour& daily) {
  static const std::vector<UsageByHour> kAll = typicalOnes();
  return *std::min_element(kAll.begin(), kAll.end(),
                           [&](const UsageByHour& a, const UsageByHour& b) {
                             return distance(daily, a) < distance(daily, b);
                           });
}

std::uint32_t safeOvercommit(std::span<const ObservedUse> seen, Bytes memory, Bytes host) {
  std::vector<std::uint64_t> parts;  // used, in millionths of the promised amount, rounded up
  for (const ObservedUse& one : seen) {
    if (one.promised.count == 0) continue;
    const auto used = static_cast<unsigned __int128>(one.used.count) * 1'000'000;
    parts.push_back(
        static_cast<std::uint64_t>((used + one.promised.count - 1) / one.promised.count));
  }
  if (parts.empty() || memory.count == 0) return kNoOvercommit;
  // The least value that 95 percent of the parts do not exceed.
  const auto at = parts.begin() + static_cast<std::ptrdiff_t>((parts.size() * 95 + 99) / 100 - 1);
  std::nth_element(parts.begin(), at, parts.end());
  const std::uint64_t by_use = *at == 0 ? kMaxOvercommit : 1'000'000'000 / *at;
  const std::uint64_t by_host =
      1000 + static_cast<std::uint64_t>(std::min<unsigned __int128>(
                 static_cast<unsigned __int128>(host.count) * 1000 / memory.count, kMaxOvercommit));
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::min(by_use, by_host), kNoOvercommit, kMaxOvercommit));
}

}  // namespace divvy::engine
