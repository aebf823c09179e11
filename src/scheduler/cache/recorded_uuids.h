// Which node's inventory has which UUID, and which nodes register one that theirs lacks. Pure.
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

// Only UUIDs in the form of RFC 9562, with or without a prefix ("GPU-"), are kept: other ids are
// alike on many nodes. Nodes without an inventory neither have a UUID nor lack one.
class RecordedUuids {
 public:
  // Instead of what there was of the node. Other nodes whose devices count differently from now on,
  // ascending.
  std::vector<std::string> set(const std::string& node, const NodeInventory& inventory);
  std::vector<std::string> remove(const std::string& node);

  // Another node whose inventory has it. Valid while this lives.
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
