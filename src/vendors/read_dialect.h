// The part of a descriptor that says how a kind is written in a cluster. Private.
#pragma once

#include "vendors/dialect.h"
#include "yaml/reader.h"

namespace divvy::vendors {

void readWire(YamlReader& read, const YAML::Node& kind, Dialect* out);

}  // namespace divvy::vendors
