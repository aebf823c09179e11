// Whether a card has the room that its scheduler gave away. It may be wrong for a while: a pod that
// is deleted by force is over for the cluster, and its processes may not be. Pure. Private.
#pragma once

#include <string>
#include <vector>

#include "agent/placement.h"
#include "device/inventory.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

// What somebody has of one card.
struct HeldCapacity {
  std::string tenant;
  std::string uuid;
  Bytes reserve;
  bool over = false;  // its pod is
};

// Why what is to be given now has no room beside these, as of `terms` (by place in `devices`);
// empty: it has. Schedulers round each share to MiB, which is nobody's fault.
std::string capacityShortfall(const Decision& decision, const std::vector<Device>& devices,
                              const std::vector<DeviceTerms>& terms,
                              const std::vector<HeldCapacity>& holdings);

}  // namespace divvy::agent
