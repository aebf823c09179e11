#include "reports/right_size.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

namespace divvy::console {
namespace {

constexpr std::uint64_t kStepBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMinBytes = std::uint64_t{512} << 20;
constexpr std::uint64_t kTenth = 10;
constexpr double kCoresMargin = 1.15;
constexpr int kMinCores = 5;
constexpr double kWorthwhile = 0.9;
constexpr int kMinDays = 3;
constexpr double kMinHours = 24;

std::optional<std::uint64_t> smallerLimit(std::uint64_t limit, std::uint64_t peak) {
  // Below this no sum overflows.
  if (peak >= limit - limit / kTenth) return std::nullopt;
  const std::uint64_t wanted = peak + peak / kTenth + (peak % kTenth == 0 ? 0 : 1);
  const std::uint64_t steps = wanted / kStepBytes + (wanted % kStepBytes == 0 ? 0 : 1);
  const std::uint64_t advised = std::max(steps * kStepBytes, kMinBytes);
  // The difference is a tenth of the limit or more.
  if (advised >= limit || limit - advised < limit / kTenth + (limit % kTenth == 0 ? 0 : 1))
    return std::nullopt;
  return advised;
}

std::optional<int> fewerCores(double cores, double busy) {
  const double wanted = std::ceil(std::max(busy, 0.0) * kCoresMargin);
  if (wanted > cores * kWorthwhile) return std::nullopt;
  const int advised = std::max(static_cast<int>(wanted), kMinCores);
  return advised > cores * kWorthwhile ? std::nullopt : std::optional(advised);
}

}  // namespace

std::string_view nameOf(SizeState state) {
  constexpr std::array<std::string_view, 5> names{"advice", "fits", "too-early", "reserves",
                                                  "unknown"};
  return names.at(static_cast<std::size_t>(state));
}

SizeAdvice adviseSize(const SizeFacts& facts) {
  if (!facts.peak_bytes && !facts.busy_percent) return {};
  SizeAdvice advice;
  if (facts.seen_days < kMinDays || facts.seen_hours < kMinHours) {
    advice.state = facts.engine_reserves ? SizeState::kReserves : SizeState::kTooEarly;
    return advice;
  }
  if (facts.busy_percent)
    advice.cores_percent = fewerCores(facts.cores_percent, *facts.busy_percent);
  if (facts.peak_bytes && !facts.engine_reserves)
    advice.limit_bytes = smallerLimit(facts.limit_bytes, *facts.peak_bytes);
  const bool any = advice.limit_bytes || advice.cores_percent;
  advice.state = facts.engine_reserves ? SizeState::kReserves
                 : any                 ? SizeState::kAdvice
                                       : SizeState::kFits;
  return advice;
}

bool reservesMemory(std::string_view image_or_command) {
  std::string text(image_or_command);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char one) { return static_cast<char>(std::tolower(one)); });
  return text.find("vllm") != std::string::npos || text.find("sglang") != std::string::npos;
}

std::optional<std::int64_t> percentile95(std::vector<std::int64_t> values) {
  if (values.empty()) return std::nullopt;
  constexpr std::size_t part = 95, whole = 100;
  const std::size_t rank = (values.size() * part + whole - 1) / whole;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace divvy::console
