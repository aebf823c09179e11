// The most that a node may register, as an annotation of the node.
//
// The scheduler writes it from the node's first registrations. An administrator may write it, or
// remove it so that the scheduler learns it again. Admission policies keep agents from writing it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/registration.h"

namespace divvy::kube {

inline constexpr const char* kInventoryKey = "divvy.dev/inventory";  // node: Inventory

// All devices of one model.
struct InventoryModel {
  std::string kind;                // name of the vendor's descriptor
  std::string model;               // as registered; of an instance with its profile
  std::uint32_t devices = 0;       // at most
  std::uint64_t mebibytes = 0;     // of one device at most; 0: any
  std::uint32_t cores = 0;         // of one device at most, as registered; 0: any
  std::vector<std::string> uuids;  // ascending; a device with another UUID replaces one of these
  friend bool operator==(const InventoryModel&, const InventoryModel&) = default;
};

struct Inventory {
  // RFC 3339 in UTC without fractions of a second, so that texts sort as instants do. Until then
  // devices beyond the inventory are added to it. Empty: none are added.
  std::string learning_until;
  std::vector<InventoryModel> models;  // ascending by kind and model
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

// Returns the annotation, in JSON.
std::string encode(const Inventory& inventory);
// Decodes the annotation. Unknown members are ignored. kCorrupt: the message names the wrong member
// and the accepted form.
Result<Inventory> decodeInventory(std::string_view text);

// Returns InventoryModel::model of a device: its type, or `kind` if it has none.
std::string modelOf(const std::string& kind, const RegisteredDevice& device);

// Returns the inventory of a node with these devices; `learning_until` is empty.
Inventory inventoryOf(const std::string& kind, const std::vector<RegisteredDevice>& devices);
// Merges two inventories: per model the larger numbers of both, where 0 means any, and at most
// 1,024 UUIDs of both. `learning_until` is that of `first`.
Inventory joined(Inventory first, const Inventory& second);

}  // namespace divvy::kube
