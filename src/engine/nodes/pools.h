// The pools of an engine: whose a device is, and what that makes of it and of a request.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/config.h"
#include "engine/pool.h"

namespace divvy::engine {

// kUsage says what is accepted.
Result<void> checkPools(const std::vector<Pool>& pools);

class Pools {
 public:
  Pools() = default;
  // They have been checked.
  explicit Pools(std::vector<Pool> pools) : pools_(std::move(pools)) {}

  bool empty() const { return pools_.empty(); }
  const std::vector<Pool>& all() const { return pools_; }
  const Pool* find(const PoolName& name) const;
  // The first that takes it; null: none does.
  const Pool* of(const Node& node, const Device& device) const;
  // As their pools have its devices.
  Node applied(Node node) const;
  // What the request asks for, in the pool that it gets: its own, or `made`. kUsage: there is no
  // such pool, or it is not for that user.
  Result<const Shape*> shapeFor(const Request& request, Shape* made) const;
  bool mayUse(const UserName& user, const Pool& pool) const;
  // What holds for a shape where it does not say.
  Config configFor(const Shape& shape, const Config& config) const;

 private:
  std::vector<Pool> pools_;
};

}  // namespace divvy::engine
