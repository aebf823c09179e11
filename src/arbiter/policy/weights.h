// Each tenant's weight among the tenants with which it shares devices.
#pragma once

#include <memory>
#include <vector>

#include "policy/tenant.h"

namespace divvy::arbiter {

// Sets `weight` and `percent` of all active tenants. A guarantee is the weight. Tenants without one
// get equal parts of what the guarantees on a device leave, at least 1 % each; the smallest part
// among the tenant's devices counts. `percent` is its part while all tenants of its class want to
// run.
void weigh(const std::vector<std::unique_ptr<Tenant>>& tenants);

}  // namespace divvy::arbiter
