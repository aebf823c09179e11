// The manifest for queues: the CustomResourceDefinition and roles to read and write it. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::scheduler {

// Returns YAML. `name`: of the scheduler's service account. kInternal: a fault of the template.
Result<std::string> queuesManifest(const std::string& name);

}  // namespace divvy::scheduler
