// Reads the dialect of a kind from its descriptor. Private.
#pragma once

#include "vendors/dialect.h"
#include "yaml/reader.h"

namespace divvy::vendors {

void readWire(YamlReader& read, const YAML::Node& kind, Dialect* out);

}  // namespace divvy::vendors
