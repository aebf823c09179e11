// Serialises checkpoints and restores of a node: at most one on each device. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_state_machine.h"

namespace divvy::agent {

// The actions wanted of a tenant.
struct CheckpointRequest {
  bool leave = false;       // its memory is needed, and it is eligible
  bool may_return = false;  // the memory for its restore is reserved
};

class CheckpointScheduler {
 public:
  struct Due {
    std::string tenant;
    CheckpointStep step;
  };

  // `devices`: indexes.
  void add(const std::string& tenant, const std::vector<unsigned>& devices, CheckpointPhase from);
  // Removes the tenant. Its devices stay occupied until a call under way is answered.
  void remove(const std::string& tenant);
  bool has(const std::string& tenant) const {
    return tenants_.contains(tenant) && !tenants_.at(tenant).gone;
  }
  void setProcesses(const std::string& tenant, const std::vector<int>& pids);
  void wish(const std::string& tenant, const CheckpointRequest& wish);

  // The calls to make now; each is answered once. Tenants with a common device take turns, except
  // for those that an earlier agent left on their way: these come first.
  std::vector<Due> due(CheckpointTime now);
  void answered(const std::string& tenant, CheckpointAnswer answer, DriverState state,
                CheckpointTime now);

  const CheckpointStateMachine& course(const std::string& tenant) const {
    return tenants_.at(tenant).course;
  }

 private:
  struct Tenant {
    std::vector<unsigned> devices;
    CheckpointStateMachine course;
    CheckpointRequest wish;
    bool on_way = false;  // it occupies its devices
    bool gone = false;
  };

  bool free(const Tenant& tenant) const;

  std::map<std::string, Tenant> tenants_;
};

}  // namespace divvy::agent
