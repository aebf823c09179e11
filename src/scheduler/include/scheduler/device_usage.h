// Devices, and the amounts of them that pods and namespaces hold, for reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "engine/units.h"

namespace divvy::scheduler {

struct DeviceUsage {
  std::string node, uuid, model, kind;
  std::string pool;       // empty: in no pool
  std::size_t index = 0;  // number on its node
  bool healthy = true;
  Bytes memory;
  engine::Compute compute;
  std::uint32_t slots = 0;
  // In use, reservations included.
  Bytes promised;
  engine::Compute promised_compute;
  std::uint32_t tenants = 0;
  bool cordoned = false;   // the device or its node accepts no new shares
  bool by_plugin = false;  // the vendor plugin chooses the device; the cache only counts
  friend bool operator==(const DeviceUsage&, const DeviceUsage&) = default;
};

// The share of one device that one container of a pod holds.
struct AllocatedShare {
  std::string namespace_name, pod, node, uuid;
  std::size_t container = 0;  // init containers first
  Bytes memory;
  engine::Compute compute;
  friend bool operator==(const AllocatedShare&, const AllocatedShare&) = default;
};

// A limit of a ResourceQuota and its use, in the units of the resource.
struct QuotaUsage {
  std::string namespace_name, quota, resource;
  std::int64_t limit = 0;
  std::int64_t used = 0;  // reservations included
};

}  // namespace divvy::scheduler
