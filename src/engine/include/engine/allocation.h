// What a request was given.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model.h"
#include "engine/usage_by_hour.h"

namespace divvy::engine {

// What one container gets of one device.
struct Share {
  DeviceUuid uuid;
  Bytes memory;
  Compute compute;
  Bytes guarantee = {};  // of `memory`: never swapped
  // Of a part as the hardware makes them: which, and where (slices); else empty.
  PartName part = {};
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

// What the request takes of one device in all: the most at any time, init containers included.
struct Charge {
  DeviceUuid uuid;
  Bytes memory;
  Compute compute;
  std::uint32_t slots = 0;
  // Of `memory`: contexts outside the shares, what can be swapped, and of that the most of one
  // tenant.
  Bytes outside = {};
  Bytes swappable = {};
  Bytes largest = {};
  // Where parts of it are taken: how many, the device's own processors, slices (a bit each); and
  // whether at another time it is shared by time instead.
  std::uint32_t parts = 0;
  std::uint32_t cpus = 0;
  std::uint32_t slices = 0;
  bool shared_too = false;
  std::uint8_t sort = 0;  // of tenant: Company::sort
  friend bool operator==(const Charge&, const Charge&) = default;
};

struct Placement {
  NodeName node;
  Cpu cpu;
  Bytes memory;
  std::vector<std::vector<Share>> containers;  // one list each, init containers first
  std::vector<Charge> charges;                 // in the node's order of devices
  std::uint32_t score = 0;                     // of its policy, 0 to 100
  // What requests cluster by: 0 no device, 1 part of one, 1 + n for n whole ones.
  std::uint8_t kind = 0;
  std::optional<UsageByHour> daily = {};  // of its charges, as the request says
  PoolName pool = {};                     // in which it was given; empty: in none
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Allocation {
  RequestId id;
  Placement placement;
  // Until it is confirmed: then it is given back. None: confirmed.
  std::optional<Instant> expires;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

}  // namespace divvy::engine
