// How devices can be partitioned, by their descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/partition.h"
#include "vendors/descriptor.h"

namespace divvy::requests {

// Returns null for devices that are not partitioned. A geometry's model matches by whole words of
// the name.
std::shared_ptr<const engine::Partitioning> partitioningOf(const vendors::Kind& kind,
                                                           std::string_view model);

// Returns the name of a slice of that size, on devices of a node that knows their slices.
engine::PartName sliceName(std::uint64_t size);

}  // namespace divvy::requests
