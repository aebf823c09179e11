// Converts values of HAMi's Helm chart to those of Divvy's. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::cli {

// `text`: values of HAMi's chart in YAML; `name` is for errors. Returns a values file of Divvy.
// Comments at its top list the keys that are left out: unneeded ones with reasons, ones that need a
// decision, and unknown ones. Unknown ones are counted. kUsage: "NAME:LINE: ...".
Result<std::string> valuesFromHami(const std::string& text, const std::string& name);

}  // namespace divvy::cli
