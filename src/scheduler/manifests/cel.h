// Conditions in the language that API servers evaluate (CEL), made from the one list of resources.
// Pure. Private.
#pragma once

#include <string>
#include <vector>

#include "vendors/catalog.h"

namespace divvy::scheduler {

// "['a', 'b']". Names with quotes or backslashes are nobody's here: callers have looked.
std::string celList(const std::vector<std::string>& names);
// Of the pod `object`: one of its containers asks for a device.
std::string celAsksForDevices(const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
