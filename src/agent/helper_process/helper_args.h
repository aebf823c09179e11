// What `divvy agent-helper` was told, once it is understood, as words for the program that is to do
// it. They mean something between programs of one build only.
#pragma once

#include <string>
#include <vector>

#include "agent/helper_main.h"
#include "base/result.h"

namespace divvy::agent {

std::vector<std::string> wordsOf(const HelperOptions& options);
// kUsage: not of wordsOf().
Result<HelperOptions> optionsOf(const std::vector<std::string>& words);

}  // namespace divvy::agent
