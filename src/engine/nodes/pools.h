// The pools of an engine: the pool of each device, and its effect on devices and requests.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/config.h"
#include "engine/pool.h"

namespace divvy::engine {

// kUsage: the message names what is accepted.
Result<void> checkPools(const std::vector<Pool>& pools);

class Pools {
 public:
  Pools() = default;
  // Requires checkPools(pools).
  explicit Pools(std::vector<Pool> pools) : pools_(std::move(pools)) {}

  bool empty() const { return pools_.empty(); }
  const std::vector<Pool>& all() const { return pools_; }
  const Pool* find(const PoolName& name) const;
  // Returns the first pool that takes the device. Null: none does.
  const Pool* of(const Node& node, const Device& device) const;
  // Returns the node with the settings that the pools give its devices.
  Node applied(Node node) const;
  // Returns the request's shape with the pool that applies: its own shape, or `*made`. kUsage:
  // there is no such pool, or the user may not use it.
  Result<const Shape*> shapeFor(const Request& request, Shape* made) const;
  bool mayUse(const UserName& user, const Pool& pool) const;
  // Returns the configuration for a shape: `config`, changed by the shape's pool.
  Config configFor(const Shape& shape, const Config& config) const;

 private:
  std::vector<Pool> pools_;
};

}  // namespace divvy::engine
