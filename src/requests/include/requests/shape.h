// What a pod's containers ask for, in the engine's terms.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "engine/request.h"
#include "vendors/ask.h"

namespace divvy::requests {

struct ContainerAsks {
  engine::Cpu cpu;
  Bytes memory;
  std::vector<vendors::Ask> devices;  // as vendors::readAsks has them
  bool sidecar = false;               // an init container that goes on
};

// The annotations say which devices of each kind will do. Whether it can ever be right is for the
// engine to say.
engine::Shape shapeOf(std::span<const ContainerAsks> init,
                      std::span<const ContainerAsks> containers,
                      const vendors::Annotations& annotations);

// Kinds of devices that it asks for.
std::set<engine::DeviceKind> kindsOf(const engine::Shape& shape);
// What selects devices of one of these kinds, and nothing else; made where there is none.
engine::Selector& selectorOf(const engine::DeviceKind& kind, engine::Shape* shape);

}  // namespace divvy::requests
