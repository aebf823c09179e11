// Options on idle tenants, from words.
#include <unistd.h>

#include <array>
#include <utility>

#include "options/option_value.h"
#include "options/options.h"

namespace divvy::cli {
namespace {

constexpr std::array<agent::Priority, 3> kClasses{
    {agent::Priority::kLow, agent::Priority::kNormal, agent::Priority::kHigh}};

// "2h", or "high=off,normal=8h": priorities that are not named keep their limits.
Result<agent::IdleLimits> parseLimits(std::string_view text, agent::IdleLimits limits) {
  std::array<bool, 3> named{};
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view part = text.substr(from, comma - from);
    const std::size_t equals = part.find('=');
    from = comma + 1;
    const Result<std::uint64_t> ms = parseIdleTime(part.substr(equals + 1));  // npos + 1 is 0
    if (!ms) return ms.error();
    Result<agent::Priority> cls = agent::Priority::kNormal;
    if (equals != std::string_view::npos) cls = agent::parsePriority(part.substr(0, equals));
    if (!cls) return cls.error();
    for (const agent::Priority each : kClasses) {
      if (equals != std::string_view::npos && each != *cls) continue;
      if (std::exchange(named.at(static_cast<std::size_t>(each)), true))
        return Error{ErrorCode::kUsage, "\"" + std::string(text) + "\" has two values for " +
                                            agent::priorityName(each) + "; accepted: once"};
      limits.of(each) = *ms;
    }
  }
  return limits;
}

Result<std::string> parseHook(std::string_view text) {
  const std::string path(text);
  if (path.starts_with('/') && access(path.c_str(), X_OK) == 0) return path;
  return Error{ErrorCode::kUsage,
               "\"" + path +
                   "\" is not executable; accepted: absolute path of a program, without arguments"};
}

}  // namespace

Result<std::uint64_t> parseIdleTime(std::string_view text) {
  if (text == "off") return std::uint64_t{0};
  const Result<std::uint64_t> ms = parseDurationMs(text);
  if (ms) return ms;
  return Error{ErrorCode::kUsage, ms.error().message() + ", or off"};
}

Result<agent::IdlePolicy> parseIdlePolicy(const IdleText& given) {
  agent::IdlePolicy policy;
  const auto from = [](const agent::IdleLimits& limits) {
    return [limits](const std::string& text) { return parseLimits(text, limits); };
  };
  Result<void> good = readOne(agentOptionValue(given.reclaim, "idle-reclaim"), from(policy.reclaim),
                              policy.reclaim);
  if (good)
    good = readOne(agentOptionValue(given.stop, "idle-stop"), from(policy.stop), policy.stop);
  if (good)
    good =
        readOne(agentOptionValue(given.notice, "idle-notice"), parseDurationMs, policy.notice_ms);
  if (good)
    good = readOne(agentOptionValue(given.grace, "idle-grace"), parseDurationMs, policy.grace_ms);
  if (good) good = readOne(agentOptionValue(given.hook, "idle-hook"), parseHook, policy.hook);
  if (!good) return good.error();
  return policy;
}

}  // namespace divvy::cli
