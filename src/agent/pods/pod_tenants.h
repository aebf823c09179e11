// The tenants of a pod's containers. Private.
#pragma once

#include <set>
#include <string>

#include "kube/pod.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// UUIDs of the devices on which tenants of the pod with this UID have shares.
std::set<std::string> devicesOfPod(const TenantManager& tenants, const std::string& uid);

// Ends all tenants of the pod with this UID.
void endTenantsOfPod(TenantManager& tenants, const std::string& uid);

// Ends tenants of the pod, so that `container`, which is about to start, gets their room: those of
// containers that have ended before it, and its own with other device IDs. `except`: ID of the
// tenant that it gets.
void endEarlierTenants(TenantManager& tenants, const kube::Pod& pod, const std::string& container,
                       const std::string& except);

}  // namespace divvy::agent
