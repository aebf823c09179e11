// The engine's shape of a pod's requests.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "engine/request.h"
#include "vendors/ask.h"

namespace divvy::requests {

struct ContainerRequests {
  engine::Cpu cpu;
  Bytes memory;
  std::vector<vendors::KindRequest> devices;  // as vendors::readRequests() returns them
  bool sidecar = false;                       // an init container that keeps running
};

// Returns the shape of a pod. The annotations select devices of each kind. The engine decides
// whether the shape can ever fit.
engine::Shape shapeOf(std::span<const ContainerRequests> init,
                      std::span<const ContainerRequests> containers,
                      const vendors::Annotations& annotations);

// Returns the kinds of devices that a shape asks for.
std::set<engine::DeviceKind> kindsOf(const engine::Shape& shape);
// Returns the selector of exactly this kind; adds it if there is none.
engine::Selector& selectorOf(const engine::DeviceKind& kind, engine::Shape* shape);

}  // namespace divvy::requests
