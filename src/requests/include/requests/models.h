// Requests of devices by a resource that names a model.
#pragma once

#include <span>

#include "base/result.h"
#include "requests/shape.h"

namespace divvy::requests {

// Limits `shape` to the models that the containers' resources name. `shape` was made from the same
// containers. kUsage: several models of one kind, only some containers that name one, or a shape
// that selects models already. The message names the accepted input.
Result<void> selectModels(std::span<const ContainerRequests> init,
                          std::span<const ContainerRequests> containers, engine::Shape* shape);

}  // namespace divvy::requests
