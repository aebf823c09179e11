// A cluster under load: requests of a production trace come, and others end to make room for them.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"

namespace divvy::bench {

class EngineLoad {
 public:
  // Nodes of eight cards, of the trace's models in its proportions.
  EngineLoad(unsigned nodes, engine::Policy policy);

  engine::Engine& engine() { return engine_; }
  const std::vector<engine::Node>& nodes() const { return nodes_; }
  const engine::Target& target() const { return target_; }

  // The next request: each kind as often as in the trace, and its id is new.
  engine::Request next();
  // One kind that was never asked for.
  engine::Request never();
  // Keeps what was given in mind.
  void given(const engine::RequestId& id) { living_.push_back(id); }
  bool fuller(double part) const;
  // Ends somebody.
  void endOne();
  // Places until `part` of the compute is given; who has no room has another end. Throws where
  // that is never reached.
  void fillTo(double part);

 private:
  engine::Engine engine_;
  Rng rng_{1};
  std::vector<engine::Node> nodes_;
  engine::Target target_;
  std::vector<engine::Shape> shapes_;
  std::vector<std::uint32_t> upto_;  // sum of counts, by shape
  std::vector<engine::RequestId> living_;
  std::uint64_t asked_ = 0;
};

}  // namespace divvy::bench
