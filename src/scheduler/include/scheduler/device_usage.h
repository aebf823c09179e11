// What devices there are and who holds what of them, to be told of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "engine/units.h"

namespace divvy::scheduler {

struct DeviceUsage {
  std::string node, uuid, model, kind;
  std::string pool;       // empty: in none
  std::size_t index = 0;  // on its node
  bool healthy = true;
  Bytes memory;
  engine::Compute compute;
  std::uint32_t slots = 0;
  // Of these, what is promised, reservations included.
  Bytes promised;
  engine::Compute promised_compute;
  std::uint32_t tenants = 0;
  bool cordoned = false;   // it gets nothing new; or its node does not
  bool by_plugin = false;  // which of its node's is given is for the vendor's own plugin to say
};

// Of one device, by one container of a pod.
struct AllocatedShare {
  std::string space, pod, node, uuid;
  std::size_t container = 0;  // init containers first
  Bytes memory;
  engine::Compute compute;
};

// Of what a namespace may hold, by ResourceQuotas; in the resource's own units.
struct QuotaUsage {
  std::string space, quota, resource;
  std::int64_t limit = 0;
  std::int64_t used = 0;  // reservations included
};

}  // namespace divvy::scheduler
