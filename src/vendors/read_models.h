// Resources of models, read from YAML. Private.
#pragma once

#include "vendors/descriptor.h"
#include "yaml/reader.h"

namespace divvy::vendors {

// {resource, models, not_models}; `with_kind`: {kind}, too.
ModelResource readModelResource(YamlReader& read, const YAML::Node& item, bool with_kind = false);

}  // namespace divvy::vendors
