// Options on limit bypass, from words.
#include "options/option_value.h"
#include "options/options.h"

namespace divvy::cli {

Result<agent::BypassPolicy> parseBypassPolicy(const BypassText& given) {
  agent::BypassPolicy policy;
  Result<void> good =
      readOne(agentOptionValue(given.on, "on-bypass"), agent::parseOnBypass, policy.on);
  if (good)
    good =
        readOne(agentOptionValue(given.notice, "bypass-notice"), parseDurationMs, policy.notice_ms);
  if (!good) return good.error();
  return policy;
}

}  // namespace divvy::cli
