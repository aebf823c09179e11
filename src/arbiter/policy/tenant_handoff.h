// How a tenant stands in one law, for another to go on with. Virtual times are counted from where
// the class of the tenant stood there: laws that counted apart then start as equals.
#pragma once

#include <vector>

#include "policy/tenant.h"

namespace divvy::arbiter {

struct TenantHandoff {
  // Of one of the tenant's devices, by the number that it had.
  struct Place {
    unsigned device;
    Virtual floor;
    TokenBucket starvation_reserve;
    double stretch;
  };

  TenantState state;
  std::vector<Place> places;
};

}  // namespace divvy::arbiter
