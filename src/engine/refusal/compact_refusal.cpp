#include "engine/compact_refusal.h"

namespace divvy::engine {
namespace {

const char* wordsOf(DeviceWhy why) {
  switch (why) {
    case DeviceWhy::kKind:
      return "no devices of that kind";
    case DeviceWhy::kNotInPool:
      return "devices not in the pool that was asked for";
    case DeviceWhy::kUnhealthy:
      return "devices out of service";
    case DeviceWhy::kCordoned:
      return "devices cordoned";
    case DeviceWhy::kHeldByOtherPlugin:
      return "devices held by another plugin";
    case DeviceWhy::kPreviousPoolTenants:
      return "devices still used from before they changed pools";
    case DeviceWhy::kPartitioned:
      return "devices partitioned (MIG)";
    case DeviceWhy::kModelNotAsked:
    case DeviceWhy::kModelExcluded:
      return "devices of models that were not asked for";
    case DeviceWhy::kUuidNotAsked:
    case DeviceWhy::kUuidExcluded:
      return "devices of UUIDs that were not asked for";
    case DeviceWhy::kNoPart:
      return "devices that never have such a part";
    case DeviceWhy::kExclusiveOnly:
      return "devices that are given as a whole only";
    case DeviceWhy::kSlots:
      return "devices with as many tenants as they may have";
    case DeviceWhy::kSplit:
      return "devices in use in parts, or shared by time: not both";
    case DeviceWhy::kColocation:
      return "devices used by pods of another class, or quality of service";
    case DeviceWhy::kTooLarge:
    case DeviceWhy::kBudget:
    case DeviceWhy::kOverPromiseLimit:
      return "devices with too little memory";
    case DeviceWhy::kGuaranteeAboveShare:
      return "more device memory guaranteed than asked for";
    case DeviceWhy::kBelowContext:
      return "less device memory asked for than one context costs";
    case DeviceWhy::kMemory:
    case DeviceWhy::kGuaranteeConflict:
      return "too little device memory free";
    case DeviceWhy::kOvercommit:
    case DeviceWhy::kGuarantee:
      return "too much device memory promised";
    case DeviceWhy::kHostReserve:
      return "too little host memory left for swapping";
    case DeviceWhy::kCompute:
      return "too little device compute free";
    case DeviceWhy::kCpus:
      return "too few of the devices' processors free";
    case DeviceWhy::kNoPlacement:
      return "no place for such a part of a device";
    case DeviceWhy::kInUse:
      return "devices in use, and asked for alone";
    case DeviceWhy::kHeld:
      return "all device compute given";
  }
  return "";
}

const char* wordsOf(const CompactRefusal& brief) {
  switch (brief.why) {
    case NodeWhy::kCordoned:
      return "cordoned";
    case NodeWhy::kCpu:
      return "too little processor time free";
    case NodeWhy::kMemory:
      return "too little memory free";
    case NodeWhy::kTooFew:
      return "too few devices";
    case NodeWhy::kDevices:
      return wordsOf(brief.most);
    case NodeWhy::kBlocks:
      return "too few devices that are taken together";
    case NodeWhy::kRow:
      return "too few neighbouring devices";
    case NodeWhy::kNuma:
      return "too few devices of one NUMA node";
    case NodeWhy::kLinks:
      return "too few devices with direct links to each other";
    case NodeWhy::kNic:
      return "no NIC of the name that was asked for";
    case NodeWhy::kTogether:
      return "room for each container, not for all";
    case NodeWhy::kUnresolved:
      return "no way found for all containers within the tries";
    case NodeWhy::kNotSearched:
      return "not searched yet: the tries of this decision went to other nodes";
  }
  return "";
}

}  // namespace

std::string text(const CompactRefusal& brief, const std::string& container) {
  std::string said = wordsOf(brief);
  if (brief.needed == 0) return said;
  said += " (" + std::to_string(brief.needed) + (brief.needed == 1 ? " device" : " devices");
  if (!brief.kind.empty()) said += " of kind " + brief.kind.text;
  said += " wanted";
  if (!container.empty()) said += " by container " + container;
  return said + ')';
}

}  // namespace divvy::engine
