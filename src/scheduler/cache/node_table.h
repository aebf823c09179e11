// All nodes of the scheduler cache, by name: as their objects describe them, and why they get no
// new shares. Pure. Private.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "annotations/device_metadata.h"
#include "engine/allocation.h"
#include "engine/model.h"
#include "kube/node.h"
#include "scheduler/cache.h"
#include "scheduler/reservation.h"

namespace divvy::scheduler {

// Reason for nodes that the engine does not have.
inline constexpr const char* kNothingRegistered = "no devices are registered";

// Hash for lookups by std::string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

struct CachedNode {
  std::string uid;
  kube::Node said;  // last version of the object
  engine::Node node;
  DeviceMetadataMap devices;
  std::vector<std::string> unread;  // NodeDescription::unread
  NodeInventory inventory = {};
};

// A fault is a text: why the node's annotations cannot be read, or why the node is closed. A node
// is closed while a pod there has an unreadable assignment: its devices are unknown.
class NodeTable {
 public:
  using Nodes = std::unordered_map<std::string, CachedNode, TextHash, std::equal_to<>>;

  // Null: unknown. Valid until the node is set or erased.
  const CachedNode* find(std::string_view name) const;
  const Nodes& all() const { return nodes_; }
  // Returns the devices of a node; null: it is unknown. Valid as find().
  const DeviceMetadataMap* devicesOf(const std::string& name) const;
  void set(const std::string& name, CachedNode node);
  // Replaces the object, and cordons the node. The node is known.
  void cordon(const std::string& name, const kube::Node& said);
  // Removes the node and its fault. It stays closed, as its pods stay.
  void erase(const std::string& name);
  // Returns groups of node names. A pod holds equally much on all nodes of a group. Valid until a
  // node changes.
  const std::vector<std::vector<std::string>>& alike();

  // Returns the amounts of a placement, by model, ascending; devices that its node lacks are of
  // model "".
  std::vector<ModelUsage> usageOf(const engine::Placement& placement) const;
  // Returns the capacity of all devices of all nodes. By model, ascending.
  std::vector<ModelUsage> capacity() const;

  // Null: there is none.
  const std::string* faultOf(std::string_view name) const {
    if (faults_.empty()) return nullptr;
    const auto found = faults_.find(name);
    return found == faults_.end() ? nullptr : &found->second;
  }
  void setFault(const std::string& name, const std::string& why);
  void clearFault(const std::string& name) { faults_.erase(name); }

  // Closes the node for a pod (UID). `why`: the unreadable part.
  void close(const std::string& name, const std::string& uid, const std::string& why);
  // Opens the nodes that are closed for this pod only, except `but` (empty: all of them), and
  // removes their faults. Returns their names, ascending.
  std::vector<std::string> open(const std::string& uid, const std::string& but);
  bool isClosed(const std::string& name) const { return closed_.contains(name); }
  // Returns the node as the engine is to have it: as described, or cordoned because it is closed;
  // that is then its fault. The node is known.
  engine::Node shown(const std::string& name);
  std::size_t closedCount() const { return closed_.size(); }

 private:
  Nodes nodes_;
  std::vector<std::vector<std::string>> alike_;  // cache of alike(); empty: to be computed
  std::map<std::string, std::string, std::less<>> faults_;
  // By node, then UID: why the pod's assignment cannot be read.
  std::map<std::string, std::map<std::string, std::string>> closed_;
};

}  // namespace divvy::scheduler
