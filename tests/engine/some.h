// Things to test with, short to write and by chance.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"

namespace divvy::engine::some {

Device device(const std::string& uuid, const std::string& model = "H100");
Node node(const std::string& name, unsigned devices, const std::string& model = "H100");
// One container with so many devices.
Request request(const std::string& id, unsigned devices, int compute, Bytes memory = {});

struct Wild {
  Rng& rng;
  bool multi = true;  // several containers, nodes of several models, terms of memory and compute
  bool topology = false;  // NUMA nodes, links and NICs, and policies of devices that go by them
  bool company = false;   // sorts of tenants that may not be beside each other

  Node node(const std::string& name);
  Request request(const std::string& id);
};
void connect(Rng& rng, Node* node);
DevicePolicy devicePolicy(Rng& rng);
Target target();

}  // namespace divvy::engine::some
