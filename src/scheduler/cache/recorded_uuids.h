// UUIDs in the inventories of nodes, and UUIDs that a node registers but its inventory lacks. Pure.
// Private.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/inventory_bounds.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Keeps only UUIDs in the form of RFC 9562, with or without a prefix ("GPU-"): other IDs may repeat
// on many nodes. A node without an inventory neither has nor lacks a UUID.
class RecordedUuids {
 public:
  // Replaces the data of the node. Returns other nodes with devices that may count differently
  // from now on, ascending.
  std::vector<std::string> set(const std::string& node, const NodeInventory& inventory);
  // Removes the node. Returns as set().
  std::vector<std::string> remove(const std::string& node);

  // Returns a function that finds another node with a UUID in its inventory. This object outlives
  // it.
  RecordedElsewhere elsewhereThan(const std::string& node) const;

 private:
  struct Node {
    std::set<std::string> has, lacks;
  };

  std::unordered_map<std::string, Node> nodes_;
  std::unordered_map<std::string, std::set<std::string>> owners_;   // by UUID: nodes
  std::unordered_map<std::string, std::set<std::string>> lacking_;  // by UUID: nodes
};

}  // namespace divvy::scheduler
