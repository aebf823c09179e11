// Limits a node's registration to its inventory (kube/inventory.h). Pure. Private.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/inventory.h"

namespace divvy::scheduler {

// Returns the name of another node with this UUID in its inventory; empty: there is none.
using RecordedElsewhere = std::function<std::string(const std::string& uuid)>;

// Removes devices beyond the inventory from `devices`, which a node registered for `kind`. Lowers
// memory (MiB) and cores that are larger than in the inventory. Returns one line for each
// difference: the registered value, and the inventory's.
//
// - A device counts while the inventory has more devices of its model. UUIDs of the inventory come
//   first. Another UUID is a replacement, unless it is in another node's inventory.
// - An instance of a type that the inventory lacks counts as a part of its device's model. All such
//   instances together have at most the memory of these devices.
// - 5 percent more memory than in the inventory is accepted, because drivers differ.
std::vector<std::string> boundByInventory(const kube::Inventory& inventory, const std::string& kind,
                                          const RecordedElsewhere& elsewhere,
                                          std::vector<kube::RegisteredDevice>* devices);

}  // namespace divvy::scheduler
