#include "agent/share_request.h"

#include <algorithm>
#include <charconv>

#include "base/device_memory.h"

namespace divvy::agent {

Bytes MemoryRequest::on(Bytes physical) const {
  if (!isPercent()) return bytes;
  return {
      static_cast<std::uint64_t>(static_cast<unsigned __int128>(physical.count) * percent / 100)};
}

std::string MemoryRequest::text() const {
  return isPercent() ? std::to_string(percent) + "%" : formatBytes(bytes);
}

Result<MemoryRequest> parseMemoryAsk(std::string_view text) {
  if (!text.ends_with('%')) {
    Result<Bytes> bytes = parseDeviceMemory(text);
    if (!bytes)
      return Error{bytes.error().code(), bytes.error().message() + ", or 1% to 100% of the device"};
    return MemoryRequest{*bytes, 0};
  }
  const std::string_view digits = text.substr(0, text.size() - 1);
  unsigned percent = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (fault != std::errc{} || end != digits.data() + digits.size() || percent < 1 ||
      percent > 100) {
    return Error{ErrorCode::kUsage, "memory \"" + std::string(text) +
                                        "\" is not a part of a device; accepted: 1% to 100%"};
  }
  return MemoryRequest{{}, percent};
}

const char* priorityName(Priority priority) {
  switch (priority) {
    case Priority::kLow:
      return "low";
    case Priority::kHigh:
      return "high";
    case Priority::kNormal:
      break;
  }
  return "normal";
}

Result<Priority> parsePriority(std::string_view text) {
  for (const Priority priority : {Priority::kLow, Priority::kNormal, Priority::kHigh}) {
    if (text == priorityName(priority)) return priority;
  }
  return Error{ErrorCode::kUsage,
               "priority \"" + std::string(text) + "\" is not known; accepted: low, normal, high"};
}

const char* coresPolicyName(CoresPolicy policy) {
  return policy == CoresPolicy::kCap ? "cap" : "share";
}

Result<CoresPolicy> parseCoresPolicy(std::string_view text) {
  for (const CoresPolicy policy : {CoresPolicy::kShare, CoresPolicy::kCap}) {
    if (text == coresPolicyName(policy)) return policy;
  }
  return Error{ErrorCode::kUsage,
               "cores policy \"" + std::string(text) + "\" is not known; accepted: share, cap"};
}

const char* onPressureName(OnPressure policy) {
  return policy == OnPressure::kWait ? "wait" : "oom";
}

Result<OnPressure> parseOnPressure(std::string_view text) {
  for (const OnPressure policy : {OnPressure::kOom, OnPressure::kWait}) {
    if (text == onPressureName(policy)) return policy;
  }
  return Error{ErrorCode::kUsage,
               "on-pressure \"" + std::string(text) + "\" is not known; accepted: oom, wait"};
}

Result<void> checkPressureWait(std::uint64_t ms) {
  if (ms != 0 && ms <= kMaxPressureWaitMs) return {};
  return Error{ErrorCode::kUsage, "an allocation cannot wait " + std::to_string(ms) +
                                      " ms for memory; accepted: more than 0, at most 24h"};
}

Result<std::string> parsePoolName(std::string_view text) {
  if (text.empty())
    return Error{ErrorCode::kUsage,
                 "a pool without a name; accepted: a pool's name, or \"none\" for no pool"};
  return text == "none" ? std::string() : std::string(text);
}

std::string poolWord(const std::string& pool) {
  return pool.empty() ? "none" : pool;
}

Result<std::string> parseName(std::string_view text) {
  constexpr std::size_t kMaxName = 63;  // the size of the field in the control page
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && !text.empty() && text.size() <= kMaxName) return std::string(text);
  return Error{ErrorCode::kUsage,
               "that name cannot be used; accepted: 1 to 63 letters, digits, '.', '_' or '-'"};
}

}  // namespace divvy::agent
