// What decisions read, laid out for reading: one array per quantity, nodes and devices by number.
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

using Slot = std::uint32_t;                // a node; stays while it is there
using ModelId = std::uint16_t;             // a model's name, its kind and its pool
using KindId = std::uint16_t;              // a kind's name
inline constexpr KindId kAnyKind = 0;      // the one without a name
inline constexpr ModelId kMixed = 0xffff;  // a node whose devices are of several models
inline constexpr std::uint8_t kOpen = 0xff;

// 0: no device; 1: a part of one; 1 + n: n whole ones, and more than 15 as 15.
inline constexpr std::size_t kKinds = 17;

// What differs from device to device, and is the same of most of them.
struct Model {
  ModelName name;
  DeviceKind kind;
  KindId kind_id = kAnyKind;
  PoolName pool = {};
};

// What devices of a node are limited by together, or are chosen by otherwise than by tightness.
enum SumsOf : std::uint8_t {
  kNoSums = 0,
  kHostMemory = 1,  // of what is promised beyond what there is
  kWeights = 2,     // compute is a weight on some
  kArranged = 4,    // some are taken together, or in a row
  kMerits = 8,      // some do better together than others
};

struct HotNodes {
  std::vector<std::int64_t> cpu, cpu_free, memory_free;
  std::vector<std::uint32_t> first;    // device
  std::vector<std::uint16_t> devices;  // how many
  std::vector<ModelId> model;
  std::vector<std::uint8_t> open;          // there, and not cordoned
  std::vector<std::uint8_t> sums;          // a SumsOf
  std::vector<std::int64_t> compute_free;  // of all devices that are open
  std::vector<std::int32_t> largest;       // compute that is free on one device
  std::vector<std::uint16_t> idle;         // devices with nobody on them and all compute free
  std::vector<std::int64_t> fragment;      // FragmentTable::weighted of it
  std::vector<std::array<std::uint16_t, kKinds>> kinds;  // tenants by kind
};

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
  std::vector<std::uint8_t> weight;  // compute is one
  std::vector<std::uint16_t> sorts;  // of tenants that are there; a bit each, none of sort 0
  // Whether its memory has terms: then `books` is right, else not looked at.
  std::vector<std::uint8_t> terms;
  std::vector<MemoryAccounts> books;
};

// Beside it what was described and what is used: the source of the above.
struct UsedDevice {
  std::int64_t compute = 0, memory = 0;
  std::uint32_t slots = 0;
  std::int64_t outside = 0, swappable = 0;  // of `memory`
  std::multiset<std::uint64_t> largest;     // of those who can have something swapped
  std::uint32_t former_pool_tenants = 0;    // who got it in another pool
  std::uint32_t parts = 0, shares = 0;      // who has parts of it, and who does not
  std::uint32_t cpus = 0;
  std::array<std::uint8_t, kMaxSlices> slices{};  // how many have each
  std::array<std::uint16_t, kSorts> sorts{};      // tenants of each
};
struct ColdNode {
  Node node;
  bool there = false;
  std::int64_t cpu_used = 0, memory_used = 0;
  std::array<std::uint16_t, kKinds> kinds{};
  std::vector<UsedDevice> used;   // as node.devices
  std::vector<HourlyLoad> loads;  // likewise; empty: nobody ever said how his day goes
  Topology topology;
};

class HotState {
 public:
  HotNodes node;
  HotDevices device;
  std::vector<ColdNode> cold;  // by slot

  std::size_t slots() const { return cold.size(); }
  const std::vector<Model>& models() const { return models_; }

  // In a slot that is free, or a new one. Charges nothing.
  Slot put(const Node& node, const Pools& pools = {});
  // The slot's node has this now; nothing of it is used.
  void describe(Slot slot, const Node& node, const Pools& pools);
  void remove(Slot slot);
  // Books (sign 1) or gives back (-1). Devices that are not there any more count for nothing.
  void charge(Slot slot, const Placement& placement, int sign);
  // The arrays of one node from what is known of it.
  void refresh(Slot slot);
  // Of the reserve, while all use all that they were promised.
  Bytes hostLeft(Slot slot) const;
  // Which it is in; empty: none.
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
  std::vector<std::uint16_t> room_;  // devices that a slot's place in the arrays has room for
};

}  // namespace divvy::engine
