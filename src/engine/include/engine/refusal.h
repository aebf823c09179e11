// Why not: one reason per device, one per node, and what was needed and had.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {

// In the order in which they are looked at: the first that holds is the one that is told.
enum class DeviceWhy : std::uint8_t {
  kKind,       // another kind was asked for
  kNotInPool,  // in another pool than was asked for, or in none, or in one and none was
  kUnhealthy,
  kCordoned,
  kExternal,
  kStrangers,      // used by who got it while it was in another pool, or in none
  kPartitioned,    // in MIG mode, and no part was asked for
  kModelNotAsked,  // other models were asked for
  kModelExcluded,
  kUuidNotAsked,
  kUuidExcluded,
  kNoPart,     // never has such a part as was asked for
  kWholeOnly,  // is given as a whole only, and a share was asked for
  kSlots,      // as many tenants as it may have
  kSplit,      // in use in parts and a share was asked for, or the other way round
  kCompany,    // used by a sort of tenant that it may not be beside
  // Of memory; bytes. Those before kMemory are so whoever else is there.
  kTooLarge,             // more than it has
  kBudget,               // more than tenants may have there at once
  kPromise,              // more than may be promised there
  kGuaranteeAboveShare,  // more of it is guaranteed than it is
  kBelowContext,         // less than one context costs there
  kMemory,               // more than is free
  kBeside,               // more than can be there at once beside what others are guaranteed
  kOvercommit,           // more than may be promised beside what is promised
  kGuarantee,            // its guarantee would keep others from what they were promised
  kHostReserve,          // the host has no room for what would be swapped out
  kCompute,              // thousandths
  kCpus,                 // of the device's own processors
  kNoPlacement,          // no slices in a row for such a part, where one may begin
  kInUse,                // asked for alone, and it is not idle
  kHeld,                 // one tenant has it to itself
};

struct DeviceRefusal {
  DeviceUuid uuid;
  DeviceWhy why = DeviceWhy::kUnhealthy;
  std::uint64_t needed = 0;  // of kSlots, memory, kCompute, kCpus; 0 otherwise
  std::uint64_t available = 0;
  PoolName pool = {};  // of kNotInPool and kStrangers: which it is in; empty: none
  friend bool operator==(const DeviceRefusal&, const DeviceRefusal&) = default;
};

enum class NodeWhy : std::uint8_t {
  kCordoned,
  kCpu,          // thousandths of a core
  kMemory,       // bytes
  kTooFew,       // devices in all; no release helps
  kDevices,      // of those it has, too few will do for `container`; `devices` says why each
  kBlocks,       // enough devices will do, but not all of those that are taken together
  kRow,          // enough will do, but not in a run of neighbours
  kNuma,         // enough devices will do, but not of one NUMA node
  kLinks,        // enough will do, but not all with direct links to each other
  kNic,          // has no NIC of the name that was asked for
  kTogether,     // each container would fit, all of them do not
  kUnresolved,   // not found within the tries of one node; asking again finds the same
  kNotSearched,  // the tries of the decision were spent on other nodes; asking again goes on here
};

struct NodeRefusal {
  NodeName node;
  NodeWhy why = NodeWhy::kCordoned;
  std::uint64_t needed = 0;
  std::uint64_t available = 0;
  // Of kTooFew, kDevices, kBlocks, kRow, kNuma, kLinks, kNic: which one, init containers first.
  std::size_t container = 0;
  DeviceKind kind;                     // of kDevices: of which too few will do
  std::vector<DeviceRefusal> devices;  // in the node's order; of kDevices only
  friend bool operator==(const NodeRefusal&, const NodeRefusal&) = default;
};

// "needs 4 GiB, 2 GiB free"
std::string text(const DeviceRefusal& refusal);
std::string text(const NodeRefusal& refusal);

}  // namespace divvy::engine
