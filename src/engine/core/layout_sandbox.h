// A copy of nodes and allocations on which moves are tried.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "engine/engine.h"

namespace divvy::engine {

// The state of an engine that a sandbox copies.
struct Layout {
  Config config;
  Target target;
  std::vector<Pool> pools;
  std::vector<Node> nodes;        // as described
  std::vector<Allocation> there;  // ascending by ID
};

// Not thread-safe. Nodes, devices and requests that methods take must exist in the layout.
class LayoutSandbox {
 public:
  explicit LayoutSandbox(const Layout& layout);

  const Engine& engine() const { return engine_; }
  const Placement& of(const RequestId& id) const { return at_.at(id).placement; }
  // Requests there, ascending.
  const std::set<RequestId>& on(const DeviceAt& device) const { return on_devices_.at(device); }
  const std::set<RequestId>& on(const NodeName& node) const { return on_nodes_.at(node); }
  const std::map<DeviceAt, std::set<RequestId>>& devices() const { return on_devices_; }
  const std::map<NodeName, std::set<RequestId>>& nodes() const { return on_nodes_; }
  std::int64_t idleDevices() const { return idle_devices_; }
  std::int64_t idleNodes() const { return idle_nodes_; }

  // Cordons a node or device, or restores its described state.
  void close(const DeviceAt& device, bool closed);
  void close(const NodeName& node, bool closed);

  // Removes an allocation and returns it.
  Allocation remove(const RequestId& id);
  // Adds an allocation without checking it.
  void put(const Allocation& allocation);
  // Returns the placement by the policy. None: it fits nowhere.
  std::optional<Placement> decide(const Request& request) const;
  // Moves the request if it fits there; otherwise it stays and the result is false.
  bool move(const Request& request, const Placement& to);
  // Returns how many requests of the shape fit together, at most `most`.
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
