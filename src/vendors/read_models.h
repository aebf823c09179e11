// Reads resources of models from YAML. Private.
#pragma once

#include "vendors/descriptor.h"
#include "yaml/reader.h"

namespace divvy::vendors {

// Reads {resource, models, not_models}; `with_kind` accepts {kind}, too.
ModelResource readModelResource(YamlReader& read, const YAML::Node& item, bool with_kind = false);

}  // namespace divvy::vendors
