// The placement and the allocation of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model.h"
#include "engine/usage_by_hour.h"

namespace divvy::engine {

// One container's share of one device.
struct Share {
  DeviceUuid uuid;
  Bytes memory;
  Compute compute;
  Bytes guarantee = {};  // of `memory`: never swapped
  // A partition: its name and place (slices); else empty.
  PartName part = {};
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

// The request's use of one device in total: the most at any time, init containers included.
struct Charge {
  DeviceUuid uuid;
  Bytes memory;
  Compute compute;
  std::uint32_t slots = 0;
  // Parts of `memory`: contexts outside the shares; swappable memory; the most of that for one
  // tenant.
  Bytes outside = {};
  Bytes swappable = {};
  Bytes largest = {};
  // With partitions: their number, the device's own processors, and slices (one bit each).
  // `shared_too`: at another time the request uses the device by time instead.
  std::uint32_t parts = 0;
  std::uint32_t cpus = 0;
  std::uint32_t slices = 0;
  bool shared_too = false;
  std::uint8_t sort = 0;  // class of tenant: ColocationRule::sort
  friend bool operator==(const Charge&, const Charge&) = default;
};

struct Placement {
  NodeName node;
  Cpu cpu;
  Bytes memory;
  std::vector<std::vector<Share>> containers;  // one list each, init containers first
  std::vector<Charge> charges;                 // in the node's order of devices
  std::uint32_t score = 0;                     // of its policy, 0 to 100
  // Kind of request for Policy::kClustering: 0 no device, 1 part of one, 1 + n for n whole devices.
  std::uint8_t kind = 0;
  std::optional<UsageByHour> daily = {};  // of its charges, as in the request
  PoolName pool = {};                     // the pool in which it was given; empty: none
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Allocation {
  RequestId id;
  Placement placement;
  // It is released at this instant unless it was confirmed. None: confirmed.
  std::optional<Instant> expires;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

}  // namespace divvy::engine
