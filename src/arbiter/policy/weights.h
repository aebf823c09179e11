// What each tenant's weight is, beside those it shares devices with.
#pragma once

#include <memory>
#include <vector>

#include "policy/tenant.h"

namespace divvy::arbiter {

// Sets `weight` and `percent` of all active tenants. A guarantee counts as it is; those without one
// get equal parts of what the guarantees on the device leave, at least 1 % each (the smallest part
// among the tenant's devices). `percent` is what that comes to while all of its class want to run.
void weigh(const std::vector<std::unique_ptr<Tenant>>& tenants);

}  // namespace divvy::arbiter
