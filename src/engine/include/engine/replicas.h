// How many more requests of one shape fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "engine/model.h"
#include "engine/request.h"

namespace divvy::engine {

class Engine;

// Replicas on one node are counted up to this number.
inline constexpr std::uint32_t kMaxReplicasOfNode = 4096;

struct ReplicaTerms {
  // Requests that count as ended. Null: none.
  std::function<bool(const RequestId&)> ended;
  // A number for `ended`: a count is kept with it until the node changes, so equal numbers must
  // stand for equal answers. 0 only if `ended` is null.
  std::uint64_t variant = 0;
  // The most that the caller accepts on a node, for what the engine does not count; asked again at
  // each query. Null: any number.
  std::function<std::uint32_t(const NodeName&)> most_on;
  // Nodes that are counted in this query; others stay unknown until the next one.
  std::size_t most_nodes = SIZE_MAX;
};

struct ReplicaCount {
  std::uint64_t fit = 0;           // in sum over the nodes that are known
  std::size_t unknown_nodes = 0;   // nodes that were not counted; 0: `fit` is exact
  std::size_t nodes_that_fit = 0;  // known nodes on which at least one fits
};

// Counts with the engine's own rules.
class ReplicaCounter {
 public:
  // `engine` outlives it, and is not moved meanwhile.
  explicit ReplicaCounter(const Engine& engine) : engine_(engine) {}

  // Returns how many requests of this shape fit beside each other: as many as Engine::place() would
  // place one after another. Counts are kept until a node changes.
  // Changes no allocation. kUsage: the request can never be right.
  Result<ReplicaCount> count(const Request& request, const ReplicaTerms& terms = {}) const;

 private:
  const Engine& engine_;
};

}  // namespace divvy::engine
