// A copy of who is where, to try moves on.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "engine/engine.h"

namespace divvy::engine {

// What an engine knows.
struct Layout {
  Config config;
  Target target;
  std::vector<Pool> pools;
  std::vector<Node> nodes;        // as they are said to be
  std::vector<Allocation> there;  // in order of names
};

class LayoutSandbox {
 public:
  explicit LayoutSandbox(const Layout& layout);

  const Engine& engine() const { return engine_; }
  const Placement& of(const RequestId& id) const { return at_.at(id).placement; }
  // Who is there; ascending.
  const std::set<RequestId>& on(const DeviceAt& device) const { return on_devices_.at(device); }
  const std::set<RequestId>& on(const NodeName& node) const { return on_nodes_.at(node); }
  const std::map<DeviceAt, std::set<RequestId>>& devices() const { return on_devices_; }
  const std::map<NodeName, std::set<RequestId>>& nodes() const { return on_nodes_; }
  std::int64_t idleDevices() const { return idle_devices_; }
  std::int64_t idleNodes() const { return idle_nodes_; }

  // Nobody new comes there, or may again.
  void close(const DeviceAt& device, bool closed);
  void close(const NodeName& node, bool closed);

  Allocation take(const RequestId& id);
  // As it is.
  void put(const Allocation& allocation);
  // Where it would go now, by the policy.
  std::optional<Placement> decide(const Request& request) const;
  // Takes it, and books it there if it fits; else it stays where it was.
  bool move(const Request& request, const Placement& to);
  // How many times it fits, one after the other.
  std::size_t fits(const Shape& shape, std::size_t most);

 private:
  void count(const Placement& placement, const RequestId& id, int sign);

  Engine engine_;
  std::map<NodeName, Node> described_, nodes_;
  std::map<RequestId, Allocation> at_;
  std::map<DeviceAt, std::set<RequestId>> on_devices_;
  std::map<NodeName, std::set<RequestId>> on_nodes_;
  std::int64_t idle_devices_ = 0, idle_nodes_ = 0;
};

}  // namespace divvy::engine
