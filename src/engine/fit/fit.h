// Whether a node fits a request, which of its devices fit, and the refusal if not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/compact_refusal.h"
#include "engine/refusal.h"
#include "fit/group.h"
#include "nodes/hot_state.h"
#include "nodes/partitioning.h"
#include "nodes/shape_class.h"

namespace divvy::engine {

enum class PlanOutcome : std::uint8_t;
struct SearchPass;

using ChosenDevices = DeviceList;  // devices chosen for one ask

// Devices that fit, in the order of the shape's policy. Tightest first: least compute left, then
// least memory, then the lowest index.
using Candidates = DeviceList;

// Free capacity of a device while the containers of one request are placed.
struct DeviceRoom {
  std::int32_t compute = 0;
  std::int32_t slots = 0;
  std::int64_t memory = 0;
  std::int64_t memory_total = 0;
  bool idle = false;  // without tenants
  KindId kind = kAnyKind;
  bool weight = false;                       // compute is a weight: it refuses no request
  const MemoryAccounts* accounts = nullptr;  // accounts of memory with terms; not owned
  std::uint8_t use = 0;                      // a HotDevices::use
  std::uint16_t sorts = 0;                   // a HotDevices::sorts
};

// Returns kOpen or a DeviceWhy, from the state of the device alone.
std::uint8_t verdictOn(const HotState& state, const ShapeClass& shape, Slot slot,
                       std::size_t index);
// Returns kOpen or a DeviceWhy, from the free capacity. `host_left`: free host memory of the node,
// for memory that is promised beyond the device's.
std::uint8_t verdictOn(const DeviceRoom& room, const DeviceDemand& demand, Bytes host_left);
DeviceRoom roomOf(const HotState& state, std::uint32_t device);

// For asks for partitions. Returns null if the device cannot be split now.
const Partitioning* partitioningOf(const Device& device);
PartRoom partRoomOf(const HotState& state, Slot slot, std::size_t index);
PartRequest partRequestOf(const ShapeClass& shape, const DeviceDemand& demand,
                          std::int64_t memory_total);
// Like verdictOn(state, ...), for asks for partitions.
std::uint8_t partVerdictOn(const HotState& state, const ShapeClass& shape, Slot slot,
                           std::size_t index);
// Returns kOpen or a DeviceWhy from the free capacity, before partitions are checked.
std::uint8_t partVerdictOn(const DeviceRoom& room, const DeviceDemand& demand);

// Returns true if the devices of each ask can be chosen one by one, by their tightness.
bool oneByOne(const HotState& state, const ShapeClass& shape, Slot slot);

// Checks cordon, CPU, memory and number of devices. Returns none if the node passes.
std::optional<NodeWhy> refuseNode(const HotState& state, const ShapeClass& shape, Slot slot);

// Returns the devices that fit a request with only this ask, sorted.
Candidates candidatesFor(const HotState& state, const ShapeClass& shape, const DeviceDemand& demand,
                         Slot slot);

// Returns the devices that fit none of the container's asks, even with no other container there.
std::vector<DeviceRefusal> refusedFor(const HotState& state, const ShapeClass& shape, Slot slot,
                                      std::size_t container);

// Returns the complete refusal of a node. None: the request fits.
std::optional<NodeRefusal> refusalOf(const HotState& state, const ShapeClass& shape, Slot slot,
                                     SearchPass& pass);
// Returns the refusal after a search that ended with `end` (kPlaced: no search was needed, or it
// found a plan).
std::optional<NodeRefusal> refusalOf(const HotState& state, const ShapeClass& shape, Slot slot,
                                     PlanOutcome end);
// The asks of the shape in the order in which compactRefusalOf reports them.
std::vector<const DeviceDemand*> demandsInOrder(const ShapeClass& shape);
// Like refusalOf(..., end), as a compact refusal. `demands`: demandsInOrder of the shape.
std::optional<CompactRefusal> compactRefusalOf(const HotState& state, const ShapeClass& shape,
                                               const std::vector<const DeviceDemand*>& demands,
                                               Slot slot, PlanOutcome end);

}  // namespace divvy::engine
