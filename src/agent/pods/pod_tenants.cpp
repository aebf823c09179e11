#include "pods/pod_tenants.h"

#include <algorithm>
#include <vector>

#include "pods/container_resolver.h"

namespace divvy::agent {

std::set<std::string> devicesOfPod(const TenantManager& tenants, const std::string& uid) {
  std::set<std::string> devices;
  for (const auto& [id, tenant] : tenants.all()) {
    if (tenant->record.lodger.uid != uid) continue;
    for (const ShareRecord& share : tenant->record.shares) devices.insert(share.uuid);
  }
  return devices;
}

void endTenantsOfPod(TenantManager& tenants, const std::string& uid) {
  std::vector<TenantPtr> over;
  for (const auto& [id, tenant] : tenants.all())
    if (tenant->record.lodger.uid == uid) over.push_back(tenant);
  for (const TenantPtr& tenant : over) tenants.end(tenant);
}

void endEarlierTenants(TenantManager& tenants, const kube::Pod& pod, const std::string& container,
                       const std::string& except) {
  const std::vector<std::string> names = overBefore(pod, container);
  std::vector<TenantPtr> over;
  for (const auto& [id, tenant] : tenants.all()) {
    const PodContainer& lodger = tenant->record.lodger;
    const bool before = lodger.container == container ||
                        std::find(names.begin(), names.end(), lodger.container) != names.end();
    if (id != except && lodger.uid == pod.meta.uid && before) over.push_back(tenant);
  }
  for (const TenantPtr& tenant : over) tenants.end(tenant);
}

}  // namespace divvy::agent
