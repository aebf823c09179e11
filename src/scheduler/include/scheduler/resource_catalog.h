// Whose devices it is about, and by what names they are asked for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Of `devices` (none: those that are built in) those of these vendors (none: all), with the
// resources of models of a file (empty: none; vendors::addModelResources). Reads the file. Errors
// say what is wrong where.
Result<vendors::Catalog> readCatalog(const std::vector<vendors::Descriptor>& devices,
                                     const std::vector<std::string>& vendors,
                                     const std::string& model_resources);

}  // namespace divvy::scheduler
