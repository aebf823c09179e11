// Suggestions: the smallest changes with which a request fits a node.
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
  kDevices,        // number, at least one
  kCpu,            // thousandths of a core
  kMemory,         // bytes
  kGuarantee,      // bytes of each device's memory
  kGuaranteePercent,
  kModels,     // accepts these too
  kNotModels,  // without these exclusions
  kUuids,      // accepts these too
  kNotUuids,   // without these exclusions
  // Without that part of the device policy.
  kNotMutex,
  kNotNumaStrict,
  kNotLinkStrict,
  kNotNic,
  kPool,  // in this pool; empty name: in no pool
};

struct Change {
  ChangeKind kind = ChangeKind::kDeviceMemory;
  std::size_t container = 0;       // of amounts: numbered from the init containers on
  std::uint64_t from = 0;          // of amounts: the requested value
  std::uint64_t to = 0;            // of amounts: the largest value that would fit
  std::vector<std::string> names;  // of all other kinds: as few as suffice
  // The kind of devices: for amounts the ask's kind, for names the selector's kind. May be empty.
  DeviceKind of = {};
  friend bool operator==(const Change&, const Change&) = default;
};

// Changes that help together. If one change of a kind suffices, it has only that one.
using Remedy = std::vector<Change>;

// Returns the shape after the changes.
Shape changed(const Shape& shape, const Remedy& remedy);

// For display: "ask for 3 GiB instead of 4 GiB of device memory in container 0", " and ...".
std::string text(const Remedy& remedy, const std::vector<std::string>& containers = {});

}  // namespace divvy::engine
