// Whether a node will do, which of its devices, and why not.
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

enum class PlanEnd : std::uint8_t;
struct SearchPass;

using Picked = DeviceList;  // chosen for one ask

// Those that would do, in the order of the shape's policy. Tightest first: least compute left, then
// least memory, then the first.
using Candidates = DeviceList;

// What of a device is left while the containers of one request are placed.
struct DeviceRoom {
  std::int32_t compute = 0;
  std::int32_t slots = 0;
  std::int64_t memory = 0;
  std::int64_t memory_total = 0;
  bool idle = false;  // nobody on it
  KindId kind = kAnyKind;
  bool weight = false;                    // compute is one: it refuses nobody
  const MemoryAccounts* books = nullptr;  // of memory with terms
  std::uint8_t use = 0;                   // as HotDevices has it
  std::uint16_t sorts = 0;                // likewise
};

// kOpen or a DeviceWhy: of the device as such, then of what is left of it.
std::uint8_t verdictOn(const HotState& state, const ShapeClass& shape, Slot slot,
                       std::size_t index);
// `host_left`: of the node's, for memory that is promised beyond what there is.
std::uint8_t verdictOn(const DeviceRoom& room, const Ask& ask, Bytes host_left);
DeviceRoom roomOf(const HotState& state, std::uint32_t device);

// Of asks for parts. Null: it is not to be split now.
const Partitioning* partingOf(const Device& device);
PartRoom partRoomOf(const HotState& state, Slot slot, std::size_t index);
PartRequest wishOf(const ShapeClass& shape, const Ask& ask, std::int64_t memory_total);
// As verdictOn of the device as such.
std::uint8_t partVerdictOn(const HotState& state, const ShapeClass& shape, Slot slot,
                           std::size_t index);
// Then of what is left of it, before the parts themselves.
std::uint8_t partVerdictOn(const DeviceRoom& room, const Ask& ask);

// Whether each ask's devices can be chosen one by one, by their tightness.
bool oneByOne(const HotState& state, const ShapeClass& shape, Slot slot);

// Cordoned, cpu, memory, number of devices; none: as such it will do.
std::optional<NodeWhy> refuseNode(const HotState& state, const ShapeClass& shape, Slot slot);

// Devices that will do for a request with only this ask, sorted.
Candidates candidatesFor(const HotState& state, const ShapeClass& shape, const Ask& ask, Slot slot);

// Devices of the node that none of the container's asks can have, were it alone there.
std::vector<DeviceRefusal> refusedFor(const HotState& state, const ShapeClass& shape, Slot slot,
                                      std::size_t container);

// The whole answer for a node that will not do; none: it will.
std::optional<NodeRefusal> refusalOf(const HotState& state, const ShapeClass& shape, Slot slot,
                                     SearchPass& pass);
// The same of what a search there came to before (kPlaced: none was needed, or it found a plan).
std::optional<NodeRefusal> refusalOf(const HotState& state, const ShapeClass& shape, Slot slot,
                                     PlanEnd end);
// The latter in short; `asks`: asksInOrder of the shape.
std::vector<const Ask*> asksInOrder(const ShapeClass& shape);
std::optional<CompactRefusal> briefOf(const HotState& state, const ShapeClass& shape,
                                      const std::vector<const Ask*>& asks, Slot slot, PlanEnd end);

}  // namespace divvy::engine
