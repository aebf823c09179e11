#include "pod_changes.h"

#include <algorithm>

#include "agent/ask.h"
#include "kube/assignment.h"
#include "log.h"
#include "pod_share.h"

namespace divvy::agent {
namespace {

constexpr unsigned kWhole = 100;
// Source: facts on the incumbent's control plane, 2.2.
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

const char* reasonOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kNoRoom:
      return "NoRoom";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kUnavailable:
      return "Unavailable";
    default:
      return "Invalid";
  }
}

// What it has already stays: of memory that cannot be swapped nothing is taken away.
Result<void> checkUse(const Tenant& tenant, const std::vector<Bytes>& limits) {
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  for (std::size_t at = 0; at < limits.size(); ++at) {
    const ShareRecord& share = tenant.record.shares[at];
    const auto use = uses.find(share.uuid);
    if (swaps(share) || use == uses.end() || use->second.inside <= limits[at]) continue;
    return Error{ErrorCode::kNoRoom, "it uses " + formatBytes(use->second.inside) + " of " +
                                         share.uuid + ", which is more than " +
                                         formatBytes(limits[at])};
  }
  return {};
}

SetRequest requestWith(Bytes limit) {
  SetRequest request;
  request.has_memory = true;
  request.memory.bytes = limit;
  return request;
}

}  // namespace

TenantPtr PodChanges::tenantOf(const kube::Pod& pod, const std::string& container) const {
  for (const auto& [id, tenant] : tenants_.all())
    if (tenant->record.lodger.uid == pod.meta.uid && tenant->record.lodger.container == container)
      return tenant;
  return nullptr;
}

Result<void> PodChanges::apply(const kube::Pod& pod, const kube::ShareChange& change,
                               const std::string& assignment) {
  const TenantPtr tenant = tenantOf(pod, change.container);
  if (tenant == nullptr)
    return Error{ErrorCode::kUnavailable,
                 "container " + change.container + " has no share here now"};
  const Result<std::vector<kube::AssignedDevice>> devices =
      assignedIn(pod, change.container, assignment);
  if (!devices) return devices.error();
  const std::vector<ShareRecord>& shares = tenant->record.shares;
  const std::vector<Card> cards = tenants_.cards();
  std::vector<Bytes> limits;
  unsigned cores = 0;
  for (const ShareRecord& share : shares) {
    const auto is = [&](const auto& one) { return one.uuid == share.uuid; };
    const auto given = std::find_if(devices->begin(), devices->end(), is);
    const auto card = std::find_if(cards.begin(), cards.end(), is);
    const Device* device = tenants_.deviceOf(share.uuid);
    if (given == devices->end() || card == cards.end() || device == nullptr)
      return Error{ErrorCode::kCorrupt,
                   "it has " + share.uuid + ", of which the assignment says nothing"};
    cores += std::min(given->cores, kWhole);
    limits.push_back(limitOf(*given, *device, *card));
  }
  SetRequest request;
  if (change.cores) request.cores = cores;
  if (!change.priority.empty()) {
    const Result<Priority> priority = parsePriority(change.priority);
    if (!priority) return priority.error();
    request.priority = *priority;
  }
  if (change.mebibytes && !limits.empty()) {
    request.has_memory = true;
    request.memory.bytes = limits.front();
    if (const Result<void> free = checkUse(*tenant, limits); !free) return free;
  }
  const Bytes before = shares.empty() ? Bytes{} : shares.front().limit;
  const Result<std::vector<std::string>> changed = tenants_.change(tenant, request);
  if (!changed) return changed.error();
  if (!request.has_memory) return {};
  // What was allocated between the look and the new limit is its own, too.
  Result<void> free = checkUse(*tenant, limits);
  if (free) return {};
  const auto back = tenants_.change(tenant, requestWith(before));
  if (!back) warn("tenant " + tenant->record.id + ": " + back.error().message());
  return free;
}

Result<void> PodChanges::apply(const kube::Pod& pod, const kube::ChangeState& admitted) {
  const auto said = pod.meta.annotations.find(kube::kChangeKey);
  if (said == pod.meta.annotations.end())
    return Error{ErrorCode::kCorrupt, std::string("the pod has no ") + kube::kChangeKey};
  const Result<kube::ShareChange> change = kube::decodeShareChange(said->second);
  if (!change) return Error(change.error()).context(kube::kChangeKey);
  if (change->id != admitted.id)
    return Error{ErrorCode::kUnavailable, "something else is asked for by now"};
  return apply(pod, *change, admitted.assignment);
}

// We were too late: it has what its assignment says.
void PodChanges::takeBack(const kube::Pod& pod) {
  const auto said = pod.meta.annotations.find(kube::kChangeKey);
  const auto has = pod.meta.annotations.find(kAllocated);
  if (said == pod.meta.annotations.end() || has == pod.meta.annotations.end()) return;
  Result<kube::ShareChange> change = kube::decodeShareChange(said->second);
  if (!change) return;
  change->priority.clear();
  const Result<void> back = apply(pod, *change, has->second);
  if (!back) warn("pod " + pod.meta.space + "/" + pod.meta.name + ": " + back.error().message());
}

bool PodChanges::heard(const kube::Pod& pod) {
  const auto said = pod.meta.annotations.find(kube::kChangeStateKey);
  if (said == pod.meta.annotations.end()) return forget(pod.meta.uid);
  const Result<kube::ChangeState> state = kube::decodeChangeState(said->second);
  if (!state || state->phase != kube::ChangePhase::kAdmitted) {
    const auto was = state ? results_.find(state->id) : results_.end();
    const bool undone =
        was != results_.end() && was->second.done && state->phase == kube::ChangePhase::kRefused;
    if (undone) takeBack(pod);
    return forget(pod.meta.uid);
  }
  if (results_.contains(state->id)) return false;
  forget(pod.meta.uid);
  const Result<void> done = apply(pod, *state);
  kube::ChangeResult result{done.has_value(), "", ""};
  if (!done) {
    result.reason = reasonOf(done.error());
    result.message = done.error().message();
    warn("pod " + pod.meta.space + "/" + pod.meta.name + " is not changed: " + result.message);
  }
  ids_[pod.meta.uid] = state->id;
  results_[state->id] = std::move(result);
  return true;
}

bool PodChanges::forget(const std::string& uid) {
  const auto known = ids_.find(uid);
  if (known == ids_.end()) return false;
  results_.erase(known->second);
  ids_.erase(known);
  return true;
}

}  // namespace divvy::agent
