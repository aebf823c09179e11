// Which pods may share a device, by their annotations.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "requests/shape.h"

namespace divvy::requests {

// Returns the number of the pod's class for this kind, as engine::ColocationRule has them. 0: the
// kind has no rules, or the annotation has none of its words.
std::uint8_t sortOf(const vendors::Kind& kind, const vendors::Annotations& annotations);

// Returns whether the pod is charged no cores of this kind, whatever it asks for.
bool chargesNoCores(const vendors::Kind& kind, const vendors::Annotations& annotations);

// Sets the colocation rules of `shape`, which was made from the same containers. kUsage: the
// message names annotation, fault and accepted values.
Result<void> applyColocation(std::span<const ContainerRequests> init,
                             std::span<const ContainerRequests> containers,
                             const vendors::Annotations& annotations, engine::Shape* shape);

}  // namespace divvy::requests
