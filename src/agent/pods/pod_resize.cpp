#include "pods/pod_resize.h"

#include <algorithm>

#include "kube/assignment_text.h"
#include "kube/renamed_annotation.h"
#include "log/log.h"
#include "pods/pod_allocation.h"
#include "share_options/share_options.h"
#include "tenant/resize_check.h"
#include "tenant/tenant_events.h"

namespace divvy::agent {
namespace {

// Source: facts on the incumbent's control plane, 2.2.
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

TenantPtr tenantOf(const TenantManager& tenants, const std::string& uid,
                   const std::string& container) {
  for (const auto& [id, tenant] : tenants.all())
    if (tenant->record.lodger.uid == uid && tenant->record.lodger.container == container)
      return tenant;
  return nullptr;
}

std::string changeWord(const std::string& token) {
  return "change " + token + " of its pod";
}

// `wanted`: in the order of the present shares.
Result<void> checkUses(const Tenant& tenant, const std::vector<ShareRecord>& wanted) {
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  const ResidencySummary sums = swapOf(tenant);
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    const auto use = uses.find(wanted[at].uuid);
    const Bytes used = use == uses.end() ? Bytes{} : use->second.inside;
    const Bytes pinned = at < sums.devices.size() ? sums.devices[at].pinned : Bytes{};
    if (Result<void> stays = checkUse(wanted[at], used, pinned); !stays) return stays;
  }
  return {};
}

// In the order of `has`.
Result<std::vector<ShareRecord>> sharesOf(const PodAllocation& said, const Inventory& inventory,
                                          const std::vector<ShareRecord>& has) {
  std::vector<ShareRecord> wanted;
  for (const ShareRecord& share : has) {
    const auto placed = std::find_if(
        said.decision.shares.begin(), said.decision.shares.end(), [&](const PlacedShare& one) {
          return std::any_of(
              inventory.devices().begin(), inventory.devices().end(), [&](const Device& device) {
                return device.info.index == one.index && device.info.uuid == share.uuid;
              });
        });
    if (placed == said.decision.shares.end())
      return Error{ErrorCode::kCorrupt,
                   "it has " + share.uuid + ", which the assignment does not list"};
    wanted.push_back(
        {share.uuid, placed->limit, placed->reserve, placed->cores, placed->guarantee});
  }
  return wanted;
}

}  // namespace

Result<void> PodResizer::become(const kube::Pod& pod, const std::string& container, bool anyway,
                                const std::string& by) {
  const TenantPtr tenant = tenantOf(tenants_, pod.meta.uid, container);
  if (tenant == nullptr)
    return Error{ErrorCode::kUnavailable, "container " + container + " has no share here now"};
  // The number of device IDs that the kubelet gave it.
  const std::vector<std::string> units(tenant->record.shares.size());
  const kubelet::PodDevices held{pod.meta.namespace_name, pod.meta.name, container, "", units};
  const Result<PodAllocation> said =
      podShare(pod, held, node_, inventory_.devices(), tenants_.capacity().cards());
  if (!said) return said.error();
  const Result<std::vector<ShareRecord>> wanted =
      sharesOf(*said, inventory_, tenant->record.shares);
  if (!wanted) return wanted.error();
  const Priority priority = said->request.priority;
  const std::vector<ShareRecord> before = tenant->record.shares;
  const Priority priority_before = tenant->record.priority;
  if (*wanted == before && priority == priority_before) return {};
  if (anyway) return tenants_.resizer().reshape(tenant, {*wanted, priority, false}, by);
  if (const Result<void> free = checkUses(*tenant, *wanted); !free) return free;
  const Result<void> shaped = tenants_.resizer().reshape(tenant, {*wanted, priority, true}, by);
  if (!shaped) return shaped;
  // Memory that was allocated between the check and the new limit counts, too.
  Result<void> free = checkUses(*tenant, *wanted);
  if (free) return {};
  const Result<void> back =
      tenants_.resizer().reshape(tenant, {before, priority_before, false}, by);
  if (!back)
    log::warn("cannot restore the limits of a tenant",
              {{"tenant", tenant->record.id}, {"error", back.error().message()}});
  return free;
}

Result<void> PodResizer::apply(const kube::Pod& pod, const kube::ResizeState& admitted) {
  kube::Pod then = pod;
  then.meta.annotations[kAllocated] = admitted.assignment;
  if (!admitted.change.priority.empty()) {
    const std::string key =
        admitted.change.container + '.' + std::string(share_options::kDomain) + "/priority";
    const Result<void> decided =
        kube::decideWord(key, admitted.change.priority, &then.meta.annotations);
    if (!decided) return decided;
  }
  return become(then, admitted.change.container, false, changeWord(admitted.token));
}

// Restores the pod's assignment. Undoes resizes that failed, and resizes that succeeded but were
// not published in time.
void PodResizer::setRight(const kube::Pod& pod) {
  std::vector<std::string> names;
  for (const auto& [id, tenant] : tenants_.all())
    if (tenant->record.lodger.uid == pod.meta.uid) names.push_back(tenant->record.lodger.container);
  for (const std::string& name : names) {
    const Result<void> right = become(pod, name, true, "its pod's assignment");
    if (!right)
      log::warn("container differs from its assignment",
                {{"pod", pod.meta.namespace_name + "/" + pod.meta.name},
                 {"container", name},
                 {"error", right.error().message()}});
  }
}

void PodResizer::onPodUpdate(const kube::Pod& pod) {
  const std::string* said = kube::findRenamed(pod.meta.annotations, kube::kResizeStateKey);
  if (said == nullptr) return forget(pod.meta.uid);
  const Result<kube::ResizeState> state = kube::decodeChangeState(*said);
  if (!state || state->phase != kube::ResizePhase::kAdmitted) {
    setRight(pod);
    return forget(pod.meta.uid);
  }
  const auto known = tokens_.find(pod.meta.uid);
  if (known != tokens_.end() && known->second == state->token) return;
  forget(pod.meta.uid);
  const Result<void> done = apply(pod, *state);
  kube::ResizeResult result{done.has_value(), "", ""};
  if (!done) {
    result.reason = kube::changeReason(done.error());
    result.message = done.error().message();
    const TenantPtr tenant = tenantOf(tenants_, pod.meta.uid, state->change.container);
    const TenantRecord none;
    tenants_.notifier().emit(unchangedEvent(tenant == nullptr ? none : tenant->record,
                                            "pod " + pod.meta.namespace_name + "/" + pod.meta.name +
                                                " is not resized: " + result.message,
                                            changeWord(state->token)));
  }
  tokens_[pod.meta.uid] = state->token;
  results_[state->token] = std::move(result);
}

void PodResizer::forget(const std::string& uid) {
  const auto known = tokens_.find(uid);
  if (known == tokens_.end()) return;
  results_.erase(known->second);
  tokens_.erase(known);
}

}  // namespace divvy::agent
