// State of a tenant in one policy, for another policy to continue from. Virtual times are relative
// to the class's lowest floor in the old policy, so tenants of separate policies start as equals.
#pragma once

#include <vector>

#include "policy/tenant.h"

namespace divvy::arbiter {

struct TenantHandoff {
  // State on one of the tenant's devices, by the number that the device had.
  struct DeviceHandoff {
    unsigned device;
    Virtual floor;
    TokenBucket starvation_reserve;
    double stretch;
  };

  TenantState state;
  std::vector<DeviceHandoff> places;
};

}  // namespace divvy::arbiter
