#include "engine/suggestion.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "engine/refusal.h"
#include "nodes/amounts.h"

namespace divvy::engine {
namespace {

template <typename Kind>
void add(std::vector<Name<Kind>>* to, const std::vector<std::string>& names) {
  for (const std::string& name : names) to->push_back(Name<Kind>(name));
}

template <typename Kind>
void drop(std::vector<Name<Kind>>* from, const std::vector<std::string>& names) {
  const auto named = [&](const Name<Kind>& each) {
    return std::find(names.begin(), names.end(), each.text) != names.end();
  };
  from->erase(std::remove_if(from->begin(), from->end(), named), from->end());
}

std::string listOf(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::string percent(std::uint64_t thousandths) {
  const std::uint64_t tenths = thousandths % 10;
  return std::to_string(thousandths / 10) + (tenths == 0 ? "" : "." + std::to_string(tenths)) + "%";
}

// Rounds down, because users request the amount that is displayed.
std::string bytes(std::uint64_t count) {
  constexpr std::uint64_t kMi = 1 << 20;
  if (count < kMi || count % (kMi << 10) == 0) return formatBytes({count});
  return std::to_string(count / kMi) + " MiB";
}

std::string amount(ChangeKind kind, std::uint64_t value) {
  switch (kind) {
    case ChangeKind::kDeviceMemory:
    case ChangeKind::kMemory:
    case ChangeKind::kGuarantee:
      return bytes(value);
    case ChangeKind::kDevicePercent:
    case ChangeKind::kGuaranteePercent:
      return std::to_string(value) + "%";
    case ChangeKind::kCompute:
      return percent(value);
    case ChangeKind::kCpu:
      return std::to_string(value) + "m";
    default:
      return std::to_string(value);
  }
}

const char* unitOf(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kDeviceMemory:
      return "of device memory";
    case ChangeKind::kDevicePercent:
      return "of a device's memory";
    case ChangeKind::kCompute:
      return "of a device's compute";
    case ChangeKind::kDevices:
      return "devices";
    case ChangeKind::kCpu:
      return "cores";
    case ChangeKind::kGuarantee:
      return "of guaranteed device memory";
    case ChangeKind::kGuaranteePercent:
      return "of a device's memory, guaranteed,";
    default:
      return "of memory";
  }
}

// The part of the device policy, and its name.
const char* droppedBy(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kNotMutex:
      return "mutex";
    case ChangeKind::kNotNumaStrict:
      return "numa-strict";
    case ChangeKind::kNotLinkStrict:
      return "link-strict";
    case ChangeKind::kNotNic:
      return "a NIC";
    default:
      return nullptr;
  }
}

std::string text(const Change& change, const std::vector<std::string>& containers) {
  if (const char* dropped = droppedBy(change.kind)) return std::string("ask without ") + dropped;
  switch (change.kind) {
    case ChangeKind::kModels:
      return "accept the model " + listOf(change.names);
    case ChangeKind::kNotModels:
      return "do not exclude the model " + listOf(change.names);
    case ChangeKind::kUuids:
      return "accept the device " + listOf(change.names);
    case ChangeKind::kNotUuids:
      return "do not exclude the device " + listOf(change.names);
    case ChangeKind::kPool:
      return change.names.front().empty() ? "ask outside of pools"
                                          : "ask in pool " + change.names.front();
    default:
      return "ask for " + amount(change.kind, change.to) + " instead of " +
             amount(change.kind, change.from) + " " + unitOf(change.kind) +
             (change.of.empty() ? "" : " (" + change.of.text + ")") + " in " +
             nameOfContainer(change.container, containers);
  }
}

}  // namespace

Container& containerAt(Shape* shape, std::size_t index) {
  return index < shape->init.size() ? shape->init[index]
                                    : shape->containers[index - shape->init.size()];
}

const DeviceRequest& requestFor(const Container& container, const DeviceKind& of) {
  for (const DeviceRequest& other : container.others) {
    if (other.kind == of) return other;
  }
  return container.devices;
}

DeviceRequest& requestFor(Container* container, const DeviceKind& of) {
  for (DeviceRequest& other : container->others) {
    if (other.kind == of) return other;
  }
  return container->devices;
}

Selector& selectorFor(Shape* shape, const DeviceKind& of) {
  for (KindSelector& one : shape->by_kind) {
    if (one.kind == of) return one.selector;
  }
  return shape->selector;
}

std::optional<std::uint64_t> amountOf(const Container& container, ChangeKind kind,
                                      const DeviceKind& of) {
  const DeviceRequest& devices = requestFor(container, of);
  switch (kind) {
    case ChangeKind::kDeviceMemory:
      if (const auto* bytes = std::get_if<Bytes>(&devices.memory)) return bytes->count;
      return std::nullopt;
    case ChangeKind::kDevicePercent:
      if (const auto* percent = std::get_if<Percent>(&devices.memory)) return percent->value;
      return std::nullopt;
    case ChangeKind::kGuarantee:
      if (!devices.guarantee) return std::nullopt;
      if (const auto* bytes = std::get_if<Bytes>(&*devices.guarantee)) return bytes->count;
      return std::nullopt;
    case ChangeKind::kGuaranteePercent:
      if (!devices.guarantee) return std::nullopt;
      if (const auto* part = std::get_if<Percent>(&*devices.guarantee)) return part->value;
      return std::nullopt;
    case ChangeKind::kCompute:
      return static_cast<std::uint64_t>(devices.compute.milli);
    case ChangeKind::kDevices:
      return devices.count;
    case ChangeKind::kCpu:
      return static_cast<std::uint64_t>(container.cpu.milli);
    case ChangeKind::kMemory:
      return container.memory.count;
    default:
      return std::nullopt;
  }
}

void setAmount(Container* container, const Change& change) {
  DeviceRequest& devices = requestFor(container, change.of);
  const std::uint64_t value = change.to;
  switch (change.kind) {
    case ChangeKind::kDeviceMemory:
      devices.memory = Bytes{value};
      break;
    case ChangeKind::kDevicePercent:
      devices.memory = Percent{static_cast<std::uint32_t>(value)};
      break;
    case ChangeKind::kGuarantee:
      devices.guarantee = Bytes{value};
      break;
    case ChangeKind::kGuaranteePercent:
      devices.guarantee = Percent{static_cast<std::uint32_t>(value)};
      break;
    case ChangeKind::kCompute:
      devices.compute = {static_cast<std::int32_t>(value)};
      break;
    case ChangeKind::kDevices:
      devices.count = static_cast<std::uint32_t>(value);
      break;
    case ChangeKind::kCpu:
      container->cpu = {static_cast<std::int64_t>(value)};
      break;
    default:
      container->memory = {value};
      break;
  }
}

bool drop(DevicePolicy* policy, ChangeKind kind) {
  const DevicePolicy before = *policy;
  if (kind == ChangeKind::kNotMutex) policy->mutex = false;
  if (kind == ChangeKind::kNotNumaStrict && policy->numa == Preference::kRequired)
    policy->numa = Preference::kPreferred;
  if (kind == ChangeKind::kNotLinkStrict && policy->links == Preference::kRequired)
    policy->links = Preference::kPreferred;
  if (kind == ChangeKind::kNotNic) policy->nic = {};
  return *policy != before;
}

Shape changed(const Shape& shape, const Remedy& remedy) {
  Shape result = shape;
  for (const Change& change : remedy) {
    Selector& selector = selectorFor(&result, change.of);
    if (change.kind == ChangeKind::kModels) {
      add(&selector.models, change.names);
    } else if (change.kind == ChangeKind::kNotModels) {
      drop(&selector.not_models, change.names);
    } else if (change.kind == ChangeKind::kUuids) {
      add(&selector.uuids, change.names);
    } else if (change.kind == ChangeKind::kNotUuids) {
      drop(&selector.not_uuids, change.names);
    } else if (change.kind == ChangeKind::kPool) {
      if (!change.names.empty()) result.pool = PoolName(change.names.front());
    } else if (droppedBy(change.kind) != nullptr) {
      if (!result.devices) result.devices.emplace();
      drop(&*result.devices, change.kind);
    } else {
      setAmount(&containerAt(&result, change.container), change);
    }
  }
  return result;
}

std::string text(const Remedy& remedy, const std::vector<std::string>& containers) {
  std::string all;
  for (const Change& change : remedy)
    all += (all.empty() ? "" : " and ") + text(change, containers);
  return all;
}

}  // namespace divvy::engine
