// From `divvy agent-helper` to the program that does it.
#pragma once

#include "agent/helper_main.h"
#include "base/result.h"

namespace divvy::agent {

// This process is that of bin/divvy-agent-helper from here on: root is to have no more code than is
// needed. Returns only where it cannot be.
Error becomeHelper(const HelperOptions& options);

}  // namespace divvy::agent
