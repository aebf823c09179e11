// State that decisions read, laid out for reading: one array for each quantity, nodes and devices
// by number.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/allocation.h"
#include "engine/memory.h"
#include "engine/refusal.h"
#include "engine/request.h"
#include "nodes/pools.h"
#include "nodes/topology.h"
#include "usage/hourly_load.h"

namespace divvy::engine {

using Slot = std::uint32_t;                // a node; constant while the node exists
using ModelId = std::uint16_t;             // a model's name, its kind and its pool
using KindId = std::uint16_t;              // a kind's name
inline constexpr KindId kAnyKind = 0;      // the one without a name
inline constexpr ModelId kMixed = 0xffff;  // a node with devices of several models
inline constexpr std::uint8_t kOpen = 0xff;

// Kinds of tenants, by request: 0: no device; 1: a part of one; 1 + n: n whole ones, at most 15.
inline constexpr std::size_t kKinds = 17;

// What differs from device to device but is equal for most of them.
struct Model {
  ModelName name;
  DeviceKind kind;
  KindId kind_id = kAnyKind;
  PoolName pool = {};
};

// Properties by which the devices of a node depend on each other, or are not chosen by tightness.
enum SumsOf : std::uint8_t {
  kNoSums = 0,
  kHostMemory = 1,  // for memory that is promised beyond the device's
  kWeights = 2,     // compute is a weight on some devices
  kArranged = 4,    // some devices form blocks or rows
  kMerits = 8,      // some sets of devices score better than others
};

struct HotNodes {
  std::vector<std::int64_t> cpu, cpu_free, memory_free;
  std::vector<std::uint32_t> first;    // index of the first device
  std::vector<std::uint16_t> devices;  // number of devices
  std::vector<ModelId> model;
  std::vector<std::uint8_t> open;          // exists, and is not cordoned
  std::vector<std::uint8_t> sums;          // a SumsOf
  std::vector<std::int64_t> compute_free;  // of all devices that are open
  std::vector<std::int32_t> largest;       // the most compute that is free on one device
  std::vector<std::uint16_t> idle;         // devices without tenants and with all compute free
  std::vector<std::int64_t> fragment;      // FragmentTable::weighted of the node
  std::vector<std::array<std::uint16_t, kKinds>> kinds;  // tenants by kind
};

// Bits of HotDevices::use.
inline constexpr std::uint8_t kInParts = 1, kByTime = 2, kWholeOnly = 4;

struct HotDevices {
  std::vector<std::int32_t> compute_free;  // 0 where it is not open
  std::vector<std::int32_t> slots_free;
  std::vector<std::int64_t> memory_free, memory_total;
  std::vector<std::uint32_t> tenants;
  std::vector<ModelId> model;
  std::vector<KindId> kind;
  std::vector<std::uint8_t> use;     // kInParts, kByTime, both; kWholeOnly
  std::vector<std::uint8_t> closed;  // a DeviceWhy, or kOpen
  std::vector<std::uint8_t> weight;  // compute is a weight
  std::vector<std::uint16_t> sorts;  // sorts of the tenants; a bit each, none for sort 0
  // Whether memory has terms. If not, `accounts` is invalid.
  std::vector<std::uint8_t> terms;
  std::vector<MemoryAccounts> accounts;
};

// Description and use of nodes: the source of the arrays above.
struct UsedDevice {
  std::int64_t compute = 0, memory = 0;
  std::uint32_t slots = 0;
  std::int64_t outside = 0, swappable = 0;  // of `memory`
  std::multiset<std::uint64_t> largest;     // Charge::largest of tenants with swappable memory
  std::uint32_t former_pool_tenants = 0;    // tenants that got it while it was in another pool
  std::uint32_t parts = 0, shares = 0;      // tenants with partitions; tenants without
  std::uint32_t cpus = 0;
  std::array<std::uint8_t, kMaxSlices> slices{};  // number of tenants on each
  std::array<std::uint16_t, kSorts> sorts{};      // number of tenants of each sort
};
struct ColdNode {
  Node node;
  bool there = false;
  std::int64_t cpu_used = 0, memory_used = 0;
  std::array<std::uint16_t, kKinds> kinds{};
  std::vector<UsedDevice> used;   // as node.devices
  std::vector<HourlyLoad> loads;  // as node.devices; empty: no request has stated its use by hour
  Topology topology;
};

// Not thread-safe.
class HotState {
 public:
  HotNodes node;
  HotDevices device;
  std::vector<ColdNode> cold;  // by slot

  std::size_t slots() const { return cold.size(); }
  const std::vector<Model>& models() const { return models_; }

  // Adds a node in a free or new slot, without charges, and returns the slot.
  Slot put(const Node& node, const Pools& pools = {});
  // Replaces the description of the slot's node. Its use is reset to zero.
  void describe(Slot slot, const Node& node, const Pools& pools);
  void remove(Slot slot);
  // Adds (sign 1) or removes (-1) the charges. Devices that no longer exist are ignored.
  void charge(Slot slot, const Placement& placement, int sign);
  // Computes the arrays of one node from its description and use.
  void refresh(Slot slot);
  // Returns what is left of the host memory reserve if all tenants use all that was promised.
  Bytes hostLeft(Slot slot) const;
  // Returns the pool of a device; empty: none.
  const PoolName& poolOf(Slot slot, std::size_t index) const {
    return models_[device.model[node.first[slot] + index]].pool;
  }

 private:
  void refreshDevice(const ColdNode& cold, std::size_t index, std::uint32_t at);
  ModelId idOf(const Device& device, const PoolName& pool);
  std::vector<Model> models_;
  std::map<std::tuple<ModelName, DeviceKind, PoolName>, ModelId> ids_;
  std::map<DeviceKind, KindId> kinds_{{DeviceKind(), kAnyKind}};
  std::vector<Slot> free_;
  std::vector<std::uint16_t> room_;  // devices for which a slot has space in the arrays
};

}  // namespace divvy::engine
