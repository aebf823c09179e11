// What would have to be asked for instead: the smallest changes with which a request fits a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/request.h"

namespace divvy::engine {

enum class ChangeKind : std::uint8_t {
  kDeviceMemory,   // bytes of each device, at least one
  kDevicePercent,  // of each device's memory, at least one
  kCompute,        // thousandths of each device, at least one
  kDevices,        // how many, at least one
  kCpu,            // thousandths of a core
  kMemory,         // bytes
  kGuarantee,      // bytes of each device's memory
  kGuaranteePercent,
  kModels,     // also these
  kNotModels,  // but not these exclusions
  kUuids,      // also these
  kNotUuids,   // but not these exclusions
  // Without that part of the devices' policy.
  kNotMutex,
  kNotNumaStrict,
  kNotLinkStrict,
  kNotNic,
  kPool,  // in that pool; the empty name: in none
};

struct Change {
  ChangeKind kind = ChangeKind::kDeviceMemory;
  std::size_t container = 0;       // of amounts: init containers first
  std::uint64_t from = 0;          // of amounts: what is asked for
  std::uint64_t to = 0;            // and the most that would fit
  std::vector<std::string> names;  // of the other kinds: as few as will do
  // Whose devices, where that is said: of amounts the ask's kind, of names the selector's.
  DeviceKind of = {};
  friend bool operator==(const Change&, const Change&) = default;
};

// Changes that help together; where one of a kind is enough, that one.
using Remedy = std::vector<Change>;

// The shape that is asked for then.
Shape changed(const Shape& shape, const Remedy& remedy);

// "ask for 3 GiB instead of 4 GiB of device memory in container 0", " and ..."
std::string text(const Remedy& remedy);

}  // namespace divvy::engine
