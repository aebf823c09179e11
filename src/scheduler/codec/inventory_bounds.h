// Keeps what a node registers within its inventory (kube/inventory.h). Pure. Private.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/inventory.h"

namespace divvy::scheduler {

// Name of another node whose inventory has this UUID; empty: none has.
using RecordedElsewhere = std::function<std::string(const std::string& uuid)>;

// Removes from `devices`, which a node registered for `kind`, those beyond its inventory, and
// lowers memory (MiB) and cores that are larger than there. One line for each thing that does not
// count: what is registered, what the inventory has.
//
// - A device counts if its model is in the inventory and fewer of the model were counted before.
// UUIDs
//   of the inventory come first. Another UUID is a replacement, unless another node's inventory
//   has it.
// - An instance whose type is not in the inventory counts as a part of its device's model: all
//   together have the memory of those devices at most.
// - 5 percent more memory than in the inventory is accepted: drivers differ.
std::vector<std::string> boundByInventory(const kube::Inventory& inventory, const std::string& kind,
                                          const RecordedElsewhere& elsewhere,
                                          std::vector<kube::RegisteredDevice>* devices);

}  // namespace divvy::scheduler
