// What somebody asks of the agent, and the small words used in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/device_policy.h"
#include "engine/usage_by_hour.h"

namespace divvy::agent {

// Memory per device: bytes, or a whole percentage (1..100) of the card it is placed on.
struct MemoryRequest {
  Bytes bytes;
  unsigned percent = 100;  // used where bytes are zero

  bool isPercent() const { return bytes.count == 0; }
  // The bytes this means on a card of `physical` bytes.
  Bytes on(Bytes physical) const;
  // "4 GiB" or "50%".
  std::string text() const;
};

// "4Gi", "512Mi" (see parseBytes) or "50%". kUsage errors name what is accepted.
Result<MemoryRequest> parseMemoryAsk(std::string_view text);

enum class Priority : std::uint8_t { kLow, kNormal, kHigh };
const char* priorityName(Priority priority);
Result<Priority> parsePriority(std::string_view text);

// What the percentage of compute means: a weight while others want the device too, or a bound.
enum class CoresPolicy : std::uint8_t { kShare, kCap };
const char* coresPolicyName(CoresPolicy policy);
Result<CoresPolicy> parseCoresPolicy(std::string_view text);

// What an allocation within the share sees while the card itself has no room: out of memory, or it
// waits, for a bounded time.
enum class OnPressure : std::uint8_t { kOom, kWait };
const char* onPressureName(OnPressure policy);
Result<OnPressure> parseOnPressure(std::string_view text);
inline constexpr std::uint64_t kPressureWaitMs = 30'000;  // unless asked otherwise
inline constexpr std::uint64_t kMaxPressureWaitMs = 24ull * 3600 * 1000;
Result<void> checkPressureWait(std::uint64_t ms);

// A pool's name, or "none" for what is in no pool.
Result<std::string> parsePoolName(std::string_view text);
// As people write it.
std::string poolWord(const std::string& pool);

// A tenant's name: 1 to 63 letters, digits, '.', '_', '-'. kUsage says so.
Result<std::string> parseName(std::string_view text);

// What placement needs to know of a request. Every listed filter must match; an empty one always
// does.
struct ShareRequest {
  MemoryRequest memory;
  // Of that, what is on the device whenever it is wanted, whoever else wants memory. Nothing: all
  // of it, or none of it where more is promised than there is.
  std::optional<MemoryRequest> guaranteed;
  bool unswappable = false;  // nothing of it can be swapped: all of it is guaranteed
  // Percent of compute over all its devices together, `gpus` to 100 x `gpus`; 0 = none named: an
  // equal part of what others leave, and no cap.
  unsigned cores = 0;
  CoresPolicy cores_policy = CoresPolicy::kShare;
  unsigned gpus = 1;

  // Of each device; whole percents.
  unsigned coresEach() const { return gpus == 0 ? 0 : cores / gpus; }
  std::vector<std::string> models;  // as divvy::namesModel() takes them; any may match
  std::vector<std::string> uuids;   // UUIDs or prefixes of them; any may match
  bool context_inside = true;       // contexts count against the share
  // One of the agent's pools; empty: what is in none. Nothing: the user's default, or none.
  std::optional<std::string> pool;
  std::string user;                             // who asks; set by the agent
  std::optional<engine::DevicePolicy> devices;  // nothing: the pool's, or the agent's
  // Of what it asks, by hours of UTC; nothing: all of it all day. Tells who is put beside whom.
  std::optional<engine::UsageByHour> expected_use;
};

}  // namespace divvy::agent
