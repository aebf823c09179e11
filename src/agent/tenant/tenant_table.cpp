#include "tenant/tenant_table.h"

#include "agent/process.h"

namespace divvy::agent {
namespace {

// A tenant's processes are its command and the command's descendants.
constexpr int kMaxAncestors = 64;

}  // namespace

TenantPtr TenantTable::find(const std::string& id_or_name) const {
  const auto by_id = tenants_.find(id_or_name);
  if (by_id != tenants_.end()) return by_id->second;
  if (id_or_name.empty()) return nullptr;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant->record.name == id_or_name) return tenant;
  }
  return nullptr;
}

TenantPtr TenantTable::unstartedOf(const ProcessId& holder) const {
  for (const auto& [id, tenant] : tenants_) {
    const TenantRecord& record = tenant->record;
    const bool same =
        record.holder.pid == holder.pid && record.holder.start_time == holder.start_time;
    if (same && tenant->pages && record.command_pid == 0) return tenant;
  }
  return nullptr;
}

TenantPtr TenantTable::ownerOf(int pid) const {
  for (int depth = 0; pid > 1 && depth < kMaxAncestors; ++depth, pid = parentOf(pid)) {
    const std::string dir = tenantDirOf(pid);
    TenantPtr of_pod;  // of that pod; which of its containers is unknown
    for (const auto& [id, tenant] : tenants_) {
      const bool its = tenant->record.inContainer()
                           ? isIn(*tenant, pid)
                           : dir == tenant->dir || pid == tenant->record.command_pid;
      if (!its) continue;
      if (!tenant->record.ofPod() || seesPages(*tenant, pid)) return tenant;
      if (of_pod == nullptr) of_pod = tenant;
    }
    if (of_pod != nullptr) return of_pod;
  }
  return nullptr;
}

}  // namespace divvy::agent
