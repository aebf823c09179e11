// A request to the agent, and the enumerations in it.
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

// Memory per device: bytes, or a whole percentage (1 to 100) of the card it is placed on.
struct MemoryRequest {
  Bytes bytes;
  unsigned percent = 100;  // used if `bytes` is zero

  bool isPercent() const { return bytes.count == 0; }
  // The requested bytes on a card of `physical` bytes.
  Bytes on(Bytes physical) const;
  // "4 GiB" or "50%".
  std::string text() const;
};

// Parses "4Gi", "512Mi" (see parseBytes) or "50%". kUsage names the accepted forms.
Result<MemoryRequest> parseMemoryAsk(std::string_view text);

enum class Priority : std::uint8_t { kLow, kNormal, kHigh };
const char* priorityName(Priority priority);
Result<Priority> parsePriority(std::string_view text);

// The meaning of the percentage of compute: a weight while other tenants are busy, or an upper
// bound.
enum class CoresPolicy : std::uint8_t { kShare, kCap };
const char* coresPolicyName(CoresPolicy policy);
Result<CoresPolicy> parseCoresPolicy(std::string_view text);

// The result of an allocation within the share while the card is full: out of memory, or a wait of
// bounded length.
enum class OnPressure : std::uint8_t { kOom, kWait };
const char* onPressureName(OnPressure policy);
Result<OnPressure> parseOnPressure(std::string_view text);
inline constexpr std::uint64_t kPressureWaitMs = 30'000;  // default
inline constexpr std::uint64_t kMaxPressureWaitMs = 24ull * 3600 * 1000;
Result<void> checkPressureWait(std::uint64_t ms);

// Parses a pool's name, or "none" for devices in no pool.
Result<std::string> parsePoolName(std::string_view text);
// The inverse of parsePoolName().
std::string poolWord(const std::string& pool);

// Parses a tenant's name: 1 to 63 letters, digits, '.', '_', '-'. kUsage: any other.
Result<std::string> parseName(std::string_view text);

// A request as placement needs it. Every listed filter must match; an empty filter always does.
struct ShareRequest {
  MemoryRequest memory;
  // Part of `memory` that is on the device whenever the tenant needs it. Nothing: all of it, or
  // none of it on a card with overcommit.
  std::optional<MemoryRequest> guaranteed;
  bool unswappable = false;  // nothing can be swapped: all of it is guaranteed
  // Percent of compute over all its devices together, `gpus` to 100 x `gpus`. 0: none requested,
  // which means an equal part of the rest, without a cap.
  unsigned cores = 0;
  CoresPolicy cores_policy = CoresPolicy::kShare;
  unsigned gpus = 1;

  // Whole percent of each device.
  unsigned coresEach() const { return gpus == 0 ? 0 : cores / gpus; }
  std::vector<std::string> models;  // in the syntax of divvy::namesModel(); one must match
  std::vector<std::string> uuids;   // UUIDs or prefixes of UUIDs; one must match
  bool context_inside = true;       // contexts count against the share
  // A pool of the agent; empty: devices in no pool. Nothing: the user's default, or no pool.
  std::optional<std::string> pool;
  std::string user;                             // requester; set by the agent
  std::optional<engine::DevicePolicy> devices;  // nothing: the pool's policy, or the agent's
  // Expected use by hours of UTC, for the choice of neighbours; nothing: all of it all day.
  std::optional<engine::UsageByHour> expected_use;
};

}  // namespace divvy::agent
