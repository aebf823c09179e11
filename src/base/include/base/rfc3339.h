// Instants as RFC 3339 writes them. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace divvy {

// An instant in milliseconds since 1970, UTC.
using Rfc3339Instant = std::chrono::sys_time<std::chrono::milliseconds>;

// Forms that parseRfc3339() accepts. Each includes the one before it.
enum class Rfc3339Form {
  kUtcSeconds,  // "2026-01-02T03:04:05Z"
  kUtc,         // "2026-01-02T03:04:05.678Z", any number of digits
  kAnyOffset,   // "2026-01-02T05:04:05+02:00"
};

// Returns "2026-01-02T03:04:05Z", without a fraction. `seconds`: since 1970. Returns an empty text
// if the year does not fit an int.
std::string formatRfc3339(std::int64_t seconds);
// Returns the instant, cut to milliseconds. Second 60 is the first of the next minute. Returns
// nothing if `text` has another form or names no day of the calendar.
std::optional<Rfc3339Instant> parseRfc3339(std::string_view text, Rfc3339Form form);
// Return the same as seconds (rounded down) and as milliseconds since 1970; 0: nothing.
std::int64_t rfc3339Seconds(std::string_view text, Rfc3339Form form);
std::int64_t rfc3339Ms(std::string_view text, Rfc3339Form form);

}  // namespace divvy
