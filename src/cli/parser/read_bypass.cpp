// What is said about those who go around what limits them.
#include "options/option_value.h"
#include "options/options.h"

namespace divvy::cli {

Result<agent::BypassPolicy> parseBypassPolicy(const BypassText& given) {
  agent::BypassPolicy policy;
  Result<void> good =
      readOne(told(given.on, "--on-bypass", "DIVVY_ON_BYPASS"), agent::parseOnBypass, policy.on);
  if (good)
    good = readOne(told(given.notice, "--bypass-notice", "DIVVY_BYPASS_NOTICE"), parseDurationMs,
                   policy.notice_ms);
  if (!good) return good.error();
  return policy;
}

}  // namespace divvy::cli
