// How much of a device is taken.
#pragma once

#include <cstdint>

#include "engine/model.h"

namespace divvy::engine {

struct DeviceUsed {
  DeviceUuid uuid;
  PoolName pool;  // the device's pool; empty: in none
  Bytes memory;   // promised, reservations included
  Compute compute;
  std::uint32_t tenants = 0;
  friend bool operator==(const DeviceUsed&, const DeviceUsed&) = default;
};

}  // namespace divvy::engine
