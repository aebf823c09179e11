#include "deviceplugin/container_starter.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "container/tenant_edits.h"
#include "deviceplugin/capacity_check.h"
#include "deviceplugin/mount_conflicts.h"
#include "log/log.h"
#include "node_object/scheduler_dialect.h"
#include "pods/container_status.h"
#include "pods/pod_allocation.h"
#include "pods/pod_tenants.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

// How long the watch may be behind the kubelet until it shows a pod.
constexpr std::chrono::seconds kPodDelay{5};
// The most that a pod's status may be behind the kubelet's state of its containers.
constexpr std::chrono::seconds kStatusDelay{15};
constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{400};

bool hasInit(const kube::Pod& pod, const std::string& resource) {
  return std::any_of(pod.init.begin(), pod.init.end(), [&](const kube::PodContainer& one) {
    return !one.sidecar && one.limits.contains(resource);
  });
}

}  // namespace

bool ContainerStarter::Owner::isPod(const std::string& uid) const {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const kubelet::CheckpointEntry& one) { return one.uid == uid; });
}

std::vector<std::string> ContainerStarter::Owner::containersOf(const std::string& uid) const {
  std::vector<std::string> names;
  if (!container.empty()) names.push_back(container);
  for (const kubelet::CheckpointEntry& one : entries)
    if (one.uid == uid && std::find(names.begin(), names.end(), one.container) == names.end())
      names.push_back(one.container);
  return names;
}

void ContainerStarter::start(DeviceIds units, kubelet::ReplyCallback<void> answer) {
  inputs_.shutdown.requestStarted();
  const auto done = [this, answer = std::move(answer)](Result<void> result) {
    if (!result) log::warn("cannot start a container", {{"error", result.error().message()}});
    answer(std::move(result));
    inputs_.shutdown.requestEnded();
  };
  inputs_.kubelet.list([this, units = std::move(units), done](List held) {
    asio::co_spawn(inputs_.loop, answerStart(std::move(held), units, done), rethrow);
  });
}

asio::awaitable<void> ContainerStarter::answerStart(List held, DeviceIds units,
                                                    kubelet::ReplyCallback<void> answer) {
  answer(co_await startContainer(std::move(held), std::move(units)));
}

asio::awaitable<Result<ContainerStarter::Owner>> ContainerStarter::ownerOf(List held,
                                                                           DeviceIds units) {
  if (!held) co_return held.error();
  Owner owner;
  if (const auto* holder = kubelet::holderOf(*held, units.resource, units.ids))
    owner = {holder->namespace_name, holder->pod, holder->container, {}, {}};
  const auto entries = inputs_.kubelet.checkpoint();
  if (!entries && owner.pod.empty())
    co_return Error(entries.error())
        .context("the kubelet does not report the pod of these devices");
  if (!entries) owner.unread = entries.error();
  if (entries) owner.entries = kubelet::notedWith(*entries, units.resource, units.ids);
  // The checkpoint has the pod's UID only. The watch shows the pod a little later.
  const auto until = std::chrono::steady_clock::now() + kPodDelay;
  asio::steady_timer pause(inputs_.loop);
  std::chrono::milliseconds wait = kFirstPause;
  while (owner.pod.empty() && !owner.entries.empty() && std::chrono::steady_clock::now() < until) {
    for (const kubelet::CheckpointEntry& one : owner.entries) {
      const TrackedPod* pod = inputs_.pods.find(one.uid);
      if (pod == nullptr) continue;
      owner.namespace_name = pod->namespace_name;
      owner.pod = pod->name;
    }
    if (!owner.pod.empty()) break;
    pause.expires_after(wait);
    co_await pause.async_wait(kNoThrow);
    wait = std::min(wait * 2, kLongestPause);
  }
  if (!owner.pod.empty()) co_return owner;
  co_return Error{
      ErrorCode::kUnavailable,
      "the kubelet does not report the pod of these devices: " + units.ids.front() + " and others"};
}

std::optional<LastStartedContainer> ContainerStarter::lastStarted(const std::string& tenant,
                                                                  const std::string& uid) const {
  if (const auto known = started_.find(tenant); known != started_.end() && known->second.uid == uid)
    return known->second.last;
  const TenantPtr there = inputs_.tenants.find(tenant);
  if (there == nullptr || there->record.lodger.uid != uid) return std::nullopt;
  return LastStartedContainer{there->record.lodger.container, std::nullopt};
}

asio::awaitable<Result<void>> ContainerStarter::startContainer(List held, DeviceIds units) {
  if (units.ids.empty())
    co_return Error{ErrorCode::kUsage,
                    "no device IDs of " + units.resource + " were named; accepted: one or more"};
  if (!areOurs(units.ids))
    co_return Error{ErrorCode::kUnavailable, units.ids.front() +
                                                 " was allocated by another plugin, which served " +
                                                 units.resource + " here before: recreate its pod"};
  const Result<Owner> owner = co_await ownerOf(std::move(held), units);
  if (!owner) co_return owner.error();
  const auto until = std::chrono::steady_clock::now() + kStatusDelay;
  asio::steady_timer pause(inputs_.loop);
  std::chrono::milliseconds wait = kFirstPause;
  for (bool settled = false;; settled = std::chrono::steady_clock::now() >= until) {
    const NodeApiClient::Reply object = co_await inputs_.api.pod(owner->namespace_name, owner->pod);
    if (!object) co_return object.error();
    const Result<bool> started = tryStart(*object, *owner, units, settled);
    if (!started) co_return started.error();
    if (*started) co_return Result<void>();
    if (inputs_.shutdown.begun())
      co_return Error{ErrorCode::kUnavailable,
                      "this agent stops; the kubelet retries with the next one"};
    if (settled)
      co_return Error{ErrorCode::kUnavailable, "cannot determine which container of pod " +
                                                   owner->namespace_name + "/" + owner->pod +
                                                   " is starting"};
    pause.expires_after(wait);
    co_await pause.async_wait(kNoThrow);
    wait = std::min(wait * 2, kLongestPause);
  }
}

Result<bool> ContainerStarter::tryStart(const json::value& object, const Owner& owner,
                                        const DeviceIds& units, bool settled) {
  Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) return pod.error();
  const Result<void> understood = understand(inputs_.cluster.dialect, inputs_.devices, &*pod);
  if (!understood) return understood.error();
  const std::string& uid = pod->meta.uid;
  // An entry of the checkpoint names the pod by UID, so no pod is taken for another one.
  if (!owner.unread && !owner.isPod(uid))
    return Error{ErrorCode::kUnavailable, "the kubelet allocated these devices to another pod " +
                                              owner.namespace_name + "/" + owner.pod + " than " +
                                              uid};
  if (owner.unread && hasInit(*pod, units.resource))
    return Error(*owner.unread).context("an init container requests devices");
  const std::string tenant = tenantIdFor(units.ids, units.resource);
  const auto states = containerStates(object);
  const auto container =
      resolveContainer(*pod, states, owner.containersOf(uid), lastStarted(tenant, uid), settled);
  if (!container) return false;
  const Result<bool> created = createTenant(
      object, *pod, {owner.namespace_name, owner.pod, *container, units.resource, units.ids},
      settled || inputs_.shutdown.begun());
  if (!created) return created.error();
  if (!*created) return false;
  inputs_.preferred.taken(uid, units.ids);
  started_[tenant] = {uid, {*container, states}};
  return true;
}

std::string ContainerStarter::shortfall(const Decision& decision, const std::string& uid,
                                        const std::string& id) const {
  if (inputs_.tenants.all().contains(id))
    return "the tenant that held these devices before has not ended yet";
  std::vector<HeldCapacity> holdings;
  for (const auto& [other, tenant] : inputs_.tenants.all())
    for (const ShareRecord& share : tenant->record.shares)
      if (tenant->record.lodger.uid != uid || !tenant->liveness.saidEnded())
        holdings.push_back({other, share.uuid, share.reserve, tenant->liveness.saidEnded()});
  return capacityShortfall(decision, inputs_.inventory.devices(), inputs_.tenants.memory().devices,
                           holdings);
}

Result<bool> ContainerStarter::createTenant(const json::value& object, const kube::Pod& pod,
                                            const kubelet::PodDevices& held, bool last) {
  TenantManager& tenants = inputs_.tenants;
  const std::vector<Device>& devices = inputs_.inventory.devices();
  if (const Result<void> stay = ourMountsStay(object, held.container); !stay) return stay.error();
  const Result<PodAllocation> share =
      podShare(pod, held, inputs_.cluster.name, devices, tenants.capacity().cards());
  if (!share) return share.error();
  const std::string id = tenantIdFor(held.ids, held.resource);
  // Before earlier tenants of the pod end: their devices count as the pod's.
  const Result<void> open = openTo(share->decision, devices, devicesOfPod(tenants, pod.meta.uid));
  endEarlierTenants(tenants, pod, held.container, id);
  if (const TenantPtr there = tenants.find(id); there != nullptr) {
    // The same container starts again: its pages stay where they are.
    if (there->pages && there->record.lodger == share->container) return prepare(*there);
    const PodContainer& lodger = there->record.lodger;
    if (lodger.uid != pod.meta.uid && inputs_.pods.find(lodger.uid) != nullptr)
      return Error{ErrorCode::kUnavailable, "the kubelet allocated devices of pod " +
                                                lodger.namespace_name + "/" + lodger.pod +
                                                ", which still runs, to pod " +
                                                held.namespace_name + "/" + held.pod};
    // The kubelet allocated the IDs again, so their last container is over.
    tenants.end(there);
  }
  if (!open) return open.error();
  const std::string missing = shortfall(share->decision, pod.meta.uid, id);
  if (!missing.empty() && !last) return false;
  if (!missing.empty()) return Error{ErrorCode::kUnavailable, missing};
  const Result<TenantPtr> made =
      tenants.createFor(share->container, id, share->request, share->decision);
  if (!made) return made.error();
  (*made)->labels = pod.meta.labels;
  // The pod may have ended since the API server answered.
  if (inputs_.pods.find(pod.meta.uid) == nullptr) inputs_.pods.verify(id);
  return prepare(**made);
}

Result<bool> ContainerStarter::prepare(Tenant& tenant) {
  const Result<void> done = inputs_.injector.prepare(tenant);
  if (!done) return done.error();
  return true;
}

// For a pod with a tenant the kubelet has requested them already.
void ContainerStarter::expect(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  const bool begun = !devicesOfPod(inputs_.tenants, uid).empty();
  inputs_.preferred.waits(
      uid, begun ? std::vector<WaitingContainer>() : waitingOf(pod, inputs_.resources));
}

void ContainerStarter::podChanged(const kube::Pod& pod, const json::value& object) {
  const std::string& uid = pod.meta.uid;
  const auto states = containerStates(object);
  for (const auto& [id, tenant] : inputs_.tenants.all()) {
    if (tenant->record.lodger.uid != uid) continue;
    tenant->labels = pod.meta.labels;
    const auto state = states.find(tenant->record.lodger.container);
    // A container that waits may have run before.
    const bool started =
        state != states.end() &&
        (state->second.phase != ContainerPhase::kWaiting || !state->second.ended.empty());
    if (started) inputs_.injector.runs(id);
  }
}

void ContainerStarter::podEnded(const std::string& uid) {
  inputs_.preferred.forget(uid);
  std::erase_if(started_, [&](const auto& one) { return one.second.uid == uid; });
}

}  // namespace divvy::agent
