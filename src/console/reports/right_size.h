// Advice for the size of a workload's shares. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace divvy::console {

// The use of a workload over a time, and the present size of its shares.
struct SizeFacts {
  std::uint64_t limit_bytes = 0;            // of one share on one device
  std::optional<std::uint64_t> peak_bytes;  // most that one share used of a device
  double cores_percent = 0;                 // of one device; 0: none are requested
  std::optional<double> busy_percent;       // 95th percentile, of one device
  double seen_hours = 0;                    // running, all shares in sum
  int seen_days = 0;                        // different days with readings
  bool engine_reserves = false;             // see reservesMemory()
};

enum class SizeState : std::uint8_t { kAdvice, kFits, kTooEarly, kReserves, kUnknown };
std::string_view nameOf(SizeState state);

struct SizeAdvice {
  SizeState state = SizeState::kUnknown;
  std::optional<std::uint64_t> limit_bytes;  // smaller than the present limit; absent: no advice
  std::optional<int> cores_percent;          // fewer than the present ones; absent: no advice
};

// Advises the peak plus 10 %, up to the next 256 MiB, at least 512 MiB; and the 95th percentile
// plus 15 %, at least 5 %. Each only if that is smaller by 10 % or more. An engine that reserves
// memory gets advice for cores only. Fewer than 3 days or 24 running hours are too early for
// advice.
SizeAdvice adviseSize(const SizeFacts& facts);

// Returns whether the image or command is that of an engine that takes what it may: its peak says
// nothing about its need.
bool reservesMemory(std::string_view image_or_command);

// Returns the smallest value that at least 95 % of the values do not exceed. Absent: there are
// none.
std::optional<std::int64_t> percentile95(std::vector<std::int64_t> values);

}  // namespace divvy::console
