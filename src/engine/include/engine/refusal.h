// Refusals: one reason per device, one per node, and the amounts needed and available.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {

// In the order in which they are checked: the first that applies is reported.
enum class DeviceWhy : std::uint8_t {
  kKind,       // another kind was requested
  kNotInPool,  // in another pool than requested, or in none; or in one although none was requested
  kUnhealthy,
  kCordoned,
  kHeldByOtherPlugin,
  kPreviousPoolTenants,  // used by tenants that got it while it was in another pool, or in none
  kPartitioned,          // in MIG mode, and no partition was requested
  kModelNotAsked,        // other models were requested
  kModelExcluded,
  kUuidNotAsked,
  kUuidExcluded,
  kNoPart,         // never has the requested partition
  kExclusiveOnly,  // is given as a whole only, and a share was requested
  kSlots,          // has as many tenants as it may have
  kSplit,          // in use in partitions and a share was requested, or the reverse
  kColocation,     // used by a class of tenants that it may not be beside
  // Memory, in bytes. Reasons before kMemory apply regardless of other tenants.
  kTooLarge,             // more than the device has
  kBudget,               // more than tenants may have there at once
  kOverPromiseLimit,     // more than may be promised there
  kGuaranteeAboveShare,  // the guarantee is above the share
  kBelowContext,         // less than the cost of one context there
  kMemory,               // more than is free
  kGuaranteeConflict,    // more than can be there at once beside other tenants' guarantees
  kOvercommit,           // more than may be promised beside existing promises
  kGuarantee,            // its guarantee would keep other tenants from their promised memory
  kHostReserve,          // too little host memory for swapped-out memory
  kCompute,              // thousandths
  kCpus,                 // of the device's own processors
  kNoPlacement,          // no run of free slices for the partition at an allowed start
  kInUse,                // requested alone, and it is not idle
  kHeld,                 // one tenant has it to itself
};

struct DeviceRefusal {
  DeviceUuid uuid;
  DeviceWhy why = DeviceWhy::kUnhealthy;
  std::uint64_t needed = 0;  // of kSlots, memory, kCompute, kCpus; 0 otherwise
  std::uint64_t available = 0;
  PoolName pool = {};  // of kNotInPool and kPreviousPoolTenants: the device's pool; empty: none
  friend bool operator==(const DeviceRefusal&, const DeviceRefusal&) = default;
};

enum class NodeWhy : std::uint8_t {
  kCordoned,
  kCpu,          // thousandths of a core
  kMemory,       // bytes
  kTooFew,       // devices in total; no release helps
  kDevices,      // too few of its devices fit `container`; `devices` has the reasons
  kBlocks,       // enough devices fit, but not all of those that are taken together
  kRow,          // enough fit, but not in a run of neighbours
  kNuma,         // enough devices fit, but not on one NUMA node
  kLinks,        // enough fit, but not all with direct links to each other
  kNic,          // has no NIC of the requested name
  kTogether,     // each container would fit, all of them do not
  kUnresolved,   // not found within the tries of one node; the next query has the same result
  kNotSearched,  // the tries were spent on other nodes; the next query continues here
};

struct NodeRefusal {
  NodeName node;
  NodeWhy why = NodeWhy::kCordoned;
  std::uint64_t needed = 0;
  std::uint64_t available = 0;
  // Of kTooFew, kDevices, kBlocks, kRow, kNuma, kLinks, kNic: the container, numbered from the init
  // containers on.
  std::size_t container = 0;
  DeviceKind kind;                     // of kDevices: the kind of which too few fit
  std::vector<DeviceRefusal> devices;  // in the node's order; of kDevices only
  friend bool operator==(const NodeRefusal&, const NodeRefusal&) = default;
};

// For display: "needs 4 GiB, 2 GiB free".
std::string text(const DeviceRefusal& refusal);
// "container main".
std::string nameOfContainer(std::size_t container, const std::vector<std::string>& containers);
// `containers`: their names, in the request's order; a container without a name is numbered.
std::string text(const NodeRefusal& refusal, const std::vector<std::string>& containers = {});

// Returns whether the node could not take the request even if it had no tenants: it has too few
// devices of the size, model, UUID or partition that is asked for, or no such NIC.
bool isPermanent(const NodeRefusal& refusal);

// Returns the code in docs/operations/troubleshooting.md: "too-large", "node-cpu".
std::string_view codeOf(DeviceWhy why);
std::string_view codeOf(NodeWhy why);

}  // namespace divvy::engine
