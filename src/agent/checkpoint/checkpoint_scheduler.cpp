#include "checkpoint/checkpoint_scheduler.h"

#include <algorithm>

namespace divvy::agent {

void CheckpointScheduler::add(const std::string& tenant, const std::vector<unsigned>& devices,
                              CheckpointPhase from) {
  tenants_.try_emplace(tenant, Tenant{devices, CheckpointStateMachine(from), {}, false, false});
}

void CheckpointScheduler::remove(const std::string& tenant) {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return;
  found->second.gone = true;
  if (!found->second.course.asking()) tenants_.erase(found);
}

void CheckpointScheduler::setProcesses(const std::string& tenant, const std::vector<int>& pids) {
  const auto found = tenants_.find(tenant);
  if (found != tenants_.end()) found->second.course.setProcesses(pids);
}

void CheckpointScheduler::wish(const std::string& tenant, const CheckpointRequest& wish) {
  const auto found = tenants_.find(tenant);
  if (found != tenants_.end()) found->second.wish = wish;
}

bool CheckpointScheduler::free(const Tenant& tenant) const {
  return std::none_of(tenants_.begin(), tenants_.end(), [&](const auto& entry) {
    const Tenant& other = entry.second;
    if (&other == &tenant || !other.on_way) return false;
    return std::any_of(tenant.devices.begin(), tenant.devices.end(), [&](unsigned device) {
      return std::find(other.devices.begin(), other.devices.end(), device) != other.devices.end();
    });
  });
}

std::vector<CheckpointScheduler::Due> CheckpointScheduler::due(CheckpointTime now) {
  std::vector<Due> due;
  for (auto& [id, tenant] : tenants_)
    if (tenant.course.resting()) tenant.on_way = false;
  for (auto& [id, tenant] : tenants_)
    if (!tenant.course.resting() && !tenant.on_way) tenant.on_way = free(tenant);
  for (auto& [id, tenant] : tenants_) {
    CheckpointStateMachine& course = tenant.course;
    if (tenant.gone) continue;
    if (course.resting() && free(tenant)) {
      const bool here = course.phase() == CheckpointPhase::kHere;
      if (here && tenant.wish.leave && now >= course.barredUntil()) course.takeAway();
      if (!here && tenant.wish.may_return && now >= course.postponedUntil()) course.bringBack();
      tenant.on_way = !course.resting();
    }
    if (!tenant.on_way) continue;
    if (const std::optional<CheckpointStep> step = course.next(now)) due.push_back({id, *step});
  }
  return due;
}

void CheckpointScheduler::answered(const std::string& tenant, CheckpointAnswer answer,
                                   DriverState state, CheckpointTime now) {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return;
  found->second.course.answered(answer, state, now);
  if (found->second.gone) tenants_.erase(found);
}

}  // namespace divvy::agent
