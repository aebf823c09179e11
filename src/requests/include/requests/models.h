// Devices of one model, by the name of a resource.
#pragma once

#include <span>

#include "base/result.h"
#include "requests/shape.h"

namespace divvy::requests {

// Into `shape`, which was made from the same containers: only models that their resources name.
// kUsage: what is accepted, where containers name several, or some only, of one kind; or where
// `shape` selects models already.
Result<void> selectModels(std::span<const ContainerAsks> init,
                          std::span<const ContainerAsks> containers, engine::Shape* shape);

}  // namespace divvy::requests
