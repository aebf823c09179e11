// Usage for chargeback: integrals over time, which add up. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "history/instant.h"

namespace divvy::history {

// A sum over many rows; an hour of a large cluster does not fit 64 bits for a year.
__extension__ using WideAmount = unsigned __int128;

// The hours since 1970 that end at or before `time`.
std::int64_t hourOf(Instant time);

// One share on one device in one hour at one price. A price that changes makes a second row.
struct UsageKey {
  std::int64_t hour = 0;   // since 1970
  std::string share{};     // UID
  std::string device{};    // UUID
  std::int64_t price = 0;  // the caller's ID of a price; 0: none

  friend auto operator<=>(const UsageKey&, const UsageKey&) = default;
};

// Integrals of a share, each at least 0. Time is counted in whole seconds of the clock, so that
// parts of an hour add up to exactly the hour.
struct UsageAmounts {
  std::int64_t seconds = 0;                         // that the share existed
  std::int64_t device_ns = 0;                       // device time that it used
  std::int64_t promised_byte_seconds = 0;           // memory promised
  std::int64_t used_byte_seconds = 0;               // memory used
  std::int64_t promised_compute_milli_seconds = 0;  // of 1000 for a whole device
  std::int64_t throttled_ms = 0;
  std::int64_t paused_ms = 0;

  friend bool operator==(const UsageAmounts&, const UsageAmounts&) = default;
};

// Adds. Saturates at INT64_MAX; an hour of one share does not reach it.
void add(UsageAmounts& sum, const UsageAmounts& more);

struct UsageRow {
  UsageKey key{};
  UsageAmounts amounts{};
};

// The promise and use of a share during [from, to), as between two readings of its agent.
struct UsageInterval {
  std::string share{};
  std::string device{};
  std::int64_t price = 0;
  Instant from{};
  Instant to{};
  std::int64_t promised_bytes = 0;
  std::int64_t used_bytes = 0;
  std::int64_t promised_compute_milli = 0;  // 0 to 1000
  std::int64_t device_ns = 0;               // increases during the interval
  std::int64_t throttled_ms = 0;
  std::int64_t paused_ms = 0;
};

// The longest interval that is accepted.
inline constexpr Span kMaxInterval{3'600'000};

// Returns the interval's integrals, one row for each hour that it touches. Increases are divided by
// time; the rows add up to the interval. Returns nothing for an interval that is empty, or longer
// than kMaxInterval, or has a negative amount. Neighbouring intervals count each second once.
std::vector<UsageRow> splitByHour(const UsageInterval& interval);

// A device in one hour at one price: the capacity that shares can be promised.
struct DeviceHourKey {
  std::int64_t hour = 0;
  std::string device{};
  std::int64_t price = 0;

  friend auto operator<=>(const DeviceHourKey&, const DeviceHourKey&) = default;
};
struct DeviceHour {
  DeviceHourKey key{};
  std::int64_t seconds = 0;       // that the device was there, at most 3600
  std::int64_t byte_seconds = 0;  // its memory over that time
};

// A device that was there during [from, to).
struct DeviceInterval {
  std::string device{};
  std::int64_t price = 0;
  Instant from{};
  Instant to{};
  std::int64_t memory_bytes = 0;
};
// Divides an interval of a device.
std::vector<DeviceHour> splitByHour(const DeviceInterval& interval);

}  // namespace divvy::history
