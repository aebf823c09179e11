#include "history/usage.h"

#include <algorithm>

#include "points/point.h"

namespace divvy::history {
namespace {

constexpr Span kHour{3'600'000};

std::int64_t saturatingSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

// The part of `amount` that belongs to the time from the interval's start to `until`.
std::int64_t partUntil(std::int64_t amount, const UsageInterval& interval, Instant until) {
  const auto part = WideAmount(static_cast<std::uint64_t>(amount)) *
                    static_cast<std::uint64_t>((until - interval.from).count()) /
                    static_cast<std::uint64_t>((interval.to - interval.from).count());
  return static_cast<std::int64_t>(part);
}

// Whole seconds of the clock that begin in [from, to).
std::int64_t secondsBetween(Instant from, Instant to) {
  const auto second = [](Instant time) {
    return std::chrono::ceil<std::chrono::seconds>(time.time_since_epoch()).count();
  };
  return second(to) - second(from);
}

bool accepted(Instant from, Instant to) {
  return from < to && to - from <= kMaxInterval;
}

}  // namespace

std::int64_t hourOf(Instant time) {
  return floorTo(time, kHour).time_since_epoch() / kHour;
}

void add(UsageAmounts& sum, const UsageAmounts& more) {
  for (const auto member :
       {&UsageAmounts::seconds, &UsageAmounts::device_ns, &UsageAmounts::promised_byte_seconds,
        &UsageAmounts::used_byte_seconds, &UsageAmounts::promised_compute_milli_seconds,
        &UsageAmounts::throttled_ms, &UsageAmounts::paused_ms})
    sum.*member = saturatingSum(sum.*member, more.*member);
}

std::vector<UsageRow> splitByHour(const UsageInterval& interval) {
  const bool negative =
      std::min({interval.promised_bytes, interval.used_bytes, interval.promised_compute_milli,
                interval.device_ns, interval.throttled_ms, interval.paused_ms}) < 0;
  if (negative || !accepted(interval.from, interval.to)) return {};
  std::vector<UsageRow> rows;
  for (Instant from = interval.from; from < interval.to;) {
    const Instant to = std::min(interval.to, floorTo(from, kHour) + kHour);
    const std::int64_t seconds = secondsBetween(from, to);
    const auto increase = [&](std::int64_t amount) {
      return partUntil(amount, interval, to) - partUntil(amount, interval, from);
    };
    rows.push_back(
        {{hourOf(from), interval.share, interval.device, interval.price},
         {seconds, increase(interval.device_ns), product(interval.promised_bytes, seconds),
          product(interval.used_bytes, seconds), product(interval.promised_compute_milli, seconds),
          increase(interval.throttled_ms), increase(interval.paused_ms)}});
    from = to;
  }
  return rows;
}

std::vector<DeviceHour> splitByHour(const DeviceInterval& interval) {
  if (interval.memory_bytes < 0 || !accepted(interval.from, interval.to)) return {};
  std::vector<DeviceHour> rows;
  for (Instant from = interval.from; from < interval.to;) {
    const Instant to = std::min(interval.to, floorTo(from, kHour) + kHour);
    const std::int64_t seconds = secondsBetween(from, to);
    rows.push_back({{hourOf(from), interval.device, interval.price},
                    seconds,
                    product(interval.memory_bytes, seconds)});
    from = to;
  }
  return rows;
}

}  // namespace divvy::history
