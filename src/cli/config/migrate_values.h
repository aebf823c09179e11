// What HAMi's Helm chart was told, in the words of ours. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::cli {

// `text`: values of HAMi's chart, YAML; `name` is what errors call it. The answer is a values file
// of ours. Comments at its top say, key by key, what is not in it: what needs no saying here and
// why, what somebody has to decide, and what is not known, which is counted. kUsage: "NAME:LINE:
// ...".
Result<std::string> valuesFromHami(const std::string& text, const std::string& name);

}  // namespace divvy::cli
