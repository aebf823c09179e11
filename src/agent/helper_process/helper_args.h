// The parsed options of `divvy agent-helper`, as arguments for the helper's program. Valid only
// between programs of the same build.
#pragma once

#include <string>
#include <vector>

#include "agent/helper_main.h"
#include "base/result.h"

namespace divvy::agent {

std::vector<std::string> wordsOf(const HelperOptions& options);
// kUsage: the arguments are not from wordsOf().
Result<HelperOptions> optionsOf(const std::vector<std::string>& words);

}  // namespace divvy::agent
