// All courses of a node, one at a time on any of its devices. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_state_machine.h"

namespace divvy::agent {

// What is wanted of a tenant now.
struct CheckpointRequest {
  bool leave = false;       // what it has is needed, and it could leave
  bool may_return = false;  // what it needs to come back is booked for it
};

class CheckpointScheduler {
 public:
  struct Due {
    std::string tenant;
    CheckpointStep step;
  };

  // `devices`: the node's numbers.
  void add(const std::string& tenant, const std::vector<unsigned>& devices, CheckpointPhase from);
  // Its devices are its own until a call that is under way has been answered.
  void remove(const std::string& tenant);
  bool has(const std::string& tenant) const {
    return tenants_.contains(tenant) && !tenants_.at(tenant).gone;
  }
  void setProcesses(const std::string& tenant, const std::vector<int>& pids);
  void wish(const std::string& tenant, const CheckpointRequest& wish);

  // The calls to make now, each of which is answered once. Tenants that have a device in common are
  // not on their ways at once, but for those that an earlier agent left there: these come first.
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
    bool on_way = false;  // its devices are its own
    bool gone = false;
  };

  bool free(const Tenant& tenant) const;

  std::map<std::string, Tenant> tenants_;
};

}  // namespace divvy::agent
