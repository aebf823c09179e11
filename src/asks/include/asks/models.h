// Devices of one model, by the name of a resource.
#pragma once

#include <span>

#include "asks/shape.h"
#include "base/result.h"

namespace divvy::asks {

// Into `shape`, which was made from the same containers: only models that their resources name.
// kUsage: what is accepted, where containers name several, or some only, of one kind; or where
// `shape` selects models already.
Result<void> selectModels(std::span<const ContainerAsks> init,
                          std::span<const ContainerAsks> containers, engine::Shape* shape);

}  // namespace divvy::asks
