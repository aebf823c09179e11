#include "engine/refusal.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace divvy::engine {
namespace {

std::string needs(const std::string& needed, const std::string& available) {
  return "needs " + needed + ", " + available + " free";
}

std::string bytes(std::uint64_t count) {
  return formatBytes({count});
}

std::string percent(std::uint64_t thousandths) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), thousandths % 10 == 0 ? "%.0f%%" : "%.1f%%",
                static_cast<double>(thousandths) / 10);
  return text.data();
}

std::string cores(std::uint64_t thousandths) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", static_cast<double>(thousandths) / 1000);
  return std::string(text.data()) + (thousandths == 1000 ? " core" : " cores");
}

std::string textOfMemory(DeviceWhy why, const std::string& needed, const std::string& available) {
  switch (why) {
    case DeviceWhy::kTooLarge:
      return "needs " + needed + ", the device has " + available;
    case DeviceWhy::kBudget:
      return "needs " + needed + ", tenants may have " + available + " there at once";
    case DeviceWhy::kOverPromiseLimit:
      return "needs " + needed + ", at most " + available + " may be promised there (overcommit)";
    case DeviceWhy::kGuaranteeAboveShare:
      return "guarantees " + needed + " of " + available + "; accepted: at most all of it";
    case DeviceWhy::kBelowContext:
      return needed + " is less than one context costs here (" + available +
             "); ask for more, or for contexts outside";
    case DeviceWhy::kGuaranteeConflict:
      return "needs " + needed + " at once, " + available +
             " available beside memory of other tenants that is never swapped";
    case DeviceWhy::kOvercommit:
      return "needs " + needed + ", " + available + " may still be promised (overcommit)";
    case DeviceWhy::kGuarantee:
      return "keeps " + needed + " from being swapped, " + available +
             " available beside the promises to other tenants";
    default:
      return "needs " + needed + " of host memory for swapping, " + available +
             " left of the reserve";
  }
}

}  // namespace

std::string text(const DeviceRefusal& refusal) {
  switch (refusal.why) {
    case DeviceWhy::kKind:
      return "another kind of device was asked for";
    case DeviceWhy::kNotInPool:
      return refusal.pool.empty() ? "in no pool, and one was asked for"
                                  : "in pool " + refusal.pool.text + ", which was not asked for";
    case DeviceWhy::kPreviousPoolTenants:
      return "still used by tenants that got it before it moved " +
             (refusal.pool.empty() ? "out of its pool" : "into pool " + refusal.pool.text);
    case DeviceWhy::kUnhealthy:
      return "out of service";
    case DeviceWhy::kCordoned:
      return "cordoned";
    case DeviceWhy::kHeldByOtherPlugin:
      return "held by another plugin";

    case DeviceWhy::kPartitioned:
      return "partitioned (MIG)";
    case DeviceWhy::kModelNotAsked:
      return "another model was asked for";
    case DeviceWhy::kModelExcluded:
      return "its model is excluded";
    case DeviceWhy::kUuidNotAsked:
      return "another device was asked for";
    case DeviceWhy::kUuidExcluded:
      return "excluded by its UUID";
    case DeviceWhy::kNoPart:
      return "never has such a part";
    case DeviceWhy::kExclusiveOnly:
      return "is given as a whole only, and a share was asked for";
    case DeviceWhy::kSplit:
      return "in use in parts, or shared by time: not both";
    case DeviceWhy::kColocation:
      return "used by pods of another class, or quality of service";
    case DeviceWhy::kCpus:
      return needs(std::to_string(refusal.needed), std::to_string(refusal.available)) +
             " of its processors";
    case DeviceWhy::kNoPlacement:
      return "no place for such a part beside those in use";
    case DeviceWhy::kSlots:
      return "has as many tenants as it may have";
    case DeviceWhy::kMemory:
      return needs(bytes(refusal.needed), bytes(refusal.available));
    case DeviceWhy::kTooLarge:
    case DeviceWhy::kBudget:
    case DeviceWhy::kOverPromiseLimit:
    case DeviceWhy::kGuaranteeAboveShare:
    case DeviceWhy::kBelowContext:
    case DeviceWhy::kGuaranteeConflict:
    case DeviceWhy::kOvercommit:
    case DeviceWhy::kGuarantee:
    case DeviceWhy::kHostReserve:
      return textOfMemory(refusal.why, bytes(refusal.needed), bytes(refusal.available));
    case DeviceWhy::kCompute:
      return needs(percent(refusal.needed), percent(refusal.available)) + " of its compute";
    case DeviceWhy::kInUse:
      return "asked for alone, and in use";
    case DeviceWhy::kHeld:
      return "all of its compute is given";
  }
  return "";
}

namespace {

// Reasons that no release of devices, and no recovery, can end.
bool isPermanent(DeviceWhy why) {
  switch (why) {
    case DeviceWhy::kModelNotAsked:
    case DeviceWhy::kModelExcluded:
    case DeviceWhy::kUuidNotAsked:
    case DeviceWhy::kUuidExcluded:
    case DeviceWhy::kNoPart:
    case DeviceWhy::kExclusiveOnly:
    case DeviceWhy::kTooLarge:
    case DeviceWhy::kBudget:
    case DeviceWhy::kOverPromiseLimit:
    case DeviceWhy::kGuaranteeAboveShare:
    case DeviceWhy::kBelowContext:
      return true;
    default:
      return false;
  }
}

// "container main needs 2 devices of one NUMA node, 1 fits"
std::string ofContainer(const NodeRefusal& refusal, const std::vector<std::string>& containers,
                        const std::string& which) {
  return nameOfContainer(refusal.container, containers) + " needs " +
         std::to_string(refusal.needed) + (refusal.needed == 1 ? " device" : " devices") + which +
         ", " + std::to_string(refusal.available) + (refusal.available == 1 ? " fits" : " fit");
}

}  // namespace

std::string text(const NodeRefusal& refusal, const std::vector<std::string>& containers) {
  const std::string needed = std::to_string(refusal.needed);
  const std::string available = std::to_string(refusal.available);
  switch (refusal.why) {
    case NodeWhy::kCordoned:
      return "cordoned";
    case NodeWhy::kCpu:
      return needs(cores(refusal.needed), cores(refusal.available));
    case NodeWhy::kMemory:
      return needs(bytes(refusal.needed), bytes(refusal.available)) + " memory";
    case NodeWhy::kTooFew:
      return "needs " + needed + " devices, has " + available;
    case NodeWhy::kDevices:
      return ofContainer(refusal, containers,
                         refusal.kind.empty() ? "" : " of kind " + refusal.kind.text);
    case NodeWhy::kBlocks:
      return ofContainer(refusal, containers, " of a block that is allocated as one");
    case NodeWhy::kRow:
      return ofContainer(refusal, containers, " that are neighbours");
    case NodeWhy::kNuma:
      return ofContainer(refusal, containers, " of one NUMA node");
    case NodeWhy::kLinks:
      return ofContainer(refusal, containers, " with direct links to each other");
    case NodeWhy::kNic:
      return "has no NIC of the name that was asked for";
    case NodeWhy::kTogether:
      return "each container would fit, all of them do not";
    case NodeWhy::kUnresolved:
      return "no way found for all containers within the tries";
    case NodeWhy::kNotSearched:
      return "not searched yet: the tries of this decision went to other nodes";
  }
  return "";
}

std::string nameOfContainer(std::size_t container, const std::vector<std::string>& containers) {
  return "container " +
         (container < containers.size() ? containers[container] : std::to_string(container));
}

bool isPermanent(const NodeRefusal& refusal) {
  if (refusal.why == NodeWhy::kTooFew || refusal.why == NodeWhy::kNic) return true;
  if (refusal.why != NodeWhy::kDevices) return false;
  const auto may_fit =
      std::count_if(refusal.devices.begin(), refusal.devices.end(),
                    [](const DeviceRefusal& device) { return !isPermanent(device.why); });
  return refusal.available + static_cast<std::uint64_t>(may_fit) < refusal.needed;
}

}  // namespace divvy::engine
