// The resource catalog: vendors of the devices, and the resource names that request them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Makes the catalog of the devices of `vendors` (empty: all) among `devices` (empty: the built-in
// descriptors). `model_resources`: file with further resources for models, which this reads; empty:
// none (vendors::addModelResources). kIo: the file cannot be read; other errors name fault and
// place.
Result<vendors::Catalog> readCatalog(const std::vector<vendors::Descriptor>& devices,
                                     const std::vector<std::string>& vendors,
                                     const std::string& model_resources);

}  // namespace divvy::scheduler
