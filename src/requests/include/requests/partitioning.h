// What devices can be split into, as their descriptors say.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/partition.h"
#include "vendors/descriptor.h"

namespace divvy::requests {

// Null: such devices are not split. A model is looked for by whole words of its name.
std::shared_ptr<const engine::Partitioning> partingOf(const vendors::Kind& kind,
                                                      std::string_view model);

// What a slice of that size is called among the parts of a device whose slices its node knows.
engine::PartName sliceName(std::uint64_t size);

}  // namespace divvy::requests
