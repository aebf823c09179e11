// What a node may register at most, as an annotation of the node says.
//
// The scheduler writes it from the node's first registrations; an administrator may write it, too,
// or remove it, so that the scheduler learns it again. Agents may not (admission policies).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/registration.h"

namespace divvy::kube {

inline constexpr const char* kInventoryKey = "divvy.dev/inventory";  // node: Inventory

// Devices of one model.
struct InventoryModel {
  std::string kind;                // name of the vendor's descriptor
  std::string model;               // as it is registered; of an instance with its profile
  std::uint32_t devices = 0;       // at most
  std::uint64_t mebibytes = 0;     // of one device at most; 0: any
  std::uint32_t cores = 0;         // of one device at most, as registered; 0: any
  std::vector<std::string> uuids;  // ascending; another UUID replaces one of these
  friend bool operator==(const InventoryModel&, const InventoryModel&) = default;
};

struct Inventory {
  // RFC 3339 in UTC without parts of a second, so that texts sort as instants do. What a node
  // registers beyond the inventory until then is added to it. Empty: nothing is added.
  std::string learning_until;
  std::vector<InventoryModel> models;  // ascending by kind and model
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

// JSON.
std::string encode(const Inventory& inventory);
// Members that are not known are ignored. kCorrupt: which member is wrong, and what is accepted.
Result<Inventory> decodeInventory(std::string_view text);

// InventoryModel::model of a device; of one that is registered without a type its kind.
std::string modelOf(const std::string& kind, const RegisteredDevice& device);

// What a node has that registers these devices; learns until no instant.
Inventory inventoryOf(const std::string& kind, const std::vector<RegisteredDevice>& devices);
// By model the larger number of both, and the UUIDs of both, at most 1,024. `learning_until` is the
// first one's.
Inventory joined(Inventory first, const Inventory& second);

}  // namespace divvy::kube
