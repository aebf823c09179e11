// Whether a device has the room that its scheduler allocated, and which devices are full. The
// scheduler may be wrong for a while: a pod that was deleted by force has ended for the cluster,
// while its processes may live. Pure. Private.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/placement.h"
#include "device/inventory.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// A tenant's allocation on one card.
struct HeldCapacity {
  std::string tenant;
  std::string uuid;
  Bytes reserve;
  bool over = false;  // its pod has ended
};

// Why the shares of `decision` have no room beside `holdings`; empty: they have. `terms`: by
// position in `devices`. Schedulers round each share to MiB, so a MiB for each share is tolerated.
std::string capacityShortfall(const Decision& decision, const std::vector<Device>& devices,
                              const std::vector<DeviceTerms>& terms,
                              const std::vector<HeldCapacity>& holdings);

// The use of one device by tenants.
struct DeviceAllocation {
  Bytes memory;
  unsigned tenants = 0;
};
using DeviceAllocations = std::map<std::string, DeviceAllocation>;  // by UUID

// UUIDs of full devices: less than 1 MiB is left to promise, or `per_device` tenants or more have a
// share. `terms`: by position in `devices`.
std::set<std::string> fullDevices(const std::vector<Device>& devices,
                                  const std::vector<DeviceTerms>& terms,
                                  const DeviceAllocations& allocations, unsigned per_device);

}  // namespace divvy::agent
