// All tenants of this agent, by ID. TenantManager owns the table and alone adds and removes.
#pragma once

#include <map>
#include <string>

#include "tenant/tenant.h"

namespace divvy::agent {

// Only on the agent's one thread.
class TenantTable {
 public:
  const std::map<std::string, TenantPtr>& all() const { return tenants_; }
  bool empty() const { return tenants_.empty(); }
  bool contains(const std::string& id) const { return tenants_.contains(id); }
  // Finds a tenant by ID or name; IDs first. Null: none.
  TenantPtr find(const std::string& id_or_name) const;
  // Returns the tenant that this process holds and has not started a command in, or null. The reply
  // to its request was lost with an earlier agent.
  TenantPtr unstartedOf(const ProcessId& holder) const;
  // Returns the tenant of a process, registered or not. Null: the process is unmanaged.
  TenantPtr ownerOf(int pid) const;

  // Adds the tenant under its record's ID. Replaces a tenant with that ID.
  void add(const TenantPtr& tenant) { tenants_[tenant->record.id] = tenant; }
  void remove(const std::string& id) { tenants_.erase(id); }

 private:
  std::map<std::string, TenantPtr> tenants_;
};

}  // namespace divvy::agent
