// Lists and conditions in CEL, the language that API servers evaluate, from the resource catalog:
// values for templates. Pure. Private.
#pragma once

#include <string>
#include <vector>

#include "vendors/catalog.h"

namespace divvy::scheduler {

// Returns "['a', 'b']". `names` have no quotes or backslashes; callers check that.
std::string celList(const std::vector<std::string>& names);
// Returns the condition that `r` is the name of a device resource.
std::string celIsDevice(const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
