// Beside whom a pod may come onto a device, by what it says of itself.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "requests/shape.h"

namespace divvy::requests {

// Which sort of tenant of the kind's devices a pod with these annotations is: as
// engine::ColocationRule numbers them. 0: the kind has no rules, or what is said is none of its
// words.
std::uint8_t sortOf(const vendors::Kind& kind, const vendors::Annotations& annotations);

// Whatever a pod with these annotations asks for of the kind's cores, it is charged none.
bool chargesNoCores(const vendors::Kind& kind, const vendors::Annotations& annotations);

// Into `shape`, which was made from the same containers. kUsage: which annotation, what is wrong,
// what is accepted.
Result<void> keepCompany(std::span<const ContainerAsks> init,
                         std::span<const ContainerAsks> containers,
                         const vendors::Annotations& annotations, engine::Shape* shape);

}  // namespace divvy::requests
