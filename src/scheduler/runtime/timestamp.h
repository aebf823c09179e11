// Timestamps of Kubernetes objects. Private.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace divvy::scheduler {

// Returns RFC 3339 in UTC, without fractions of a second. `seconds`: since 1970; empty: out of
// range.
inline std::string timestamp(std::int64_t seconds) {
  const std::time_t at = seconds;
  std::tm parts{};
  if (::gmtime_r(&at, &parts) == nullptr) return "";
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace divvy::scheduler
