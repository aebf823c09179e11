// Replaces `divvy agent-helper` by the helper's program.
#pragma once

#include "agent/helper_main.h"
#include "base/result.h"

namespace divvy::agent {

// Executes bin/divvy-agent-helper in place of this process, so that root runs no more code than
// needed. Returns only on failure.
Error becomeHelper(const HelperOptions& options);

}  // namespace divvy::agent
