#include "deviceplugin/pod_tracker.h"

#include <algorithm>
#include <chrono>

#include "log/log.h"
#include "node_object/scheduler_dialect.h"
#include "pods/pod_allocation.h"
#include "pods/pod_tenants.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kPause{5};

}  // namespace

void PodTracker::follow() {
  kube::EventHandlers pods;
  pods.path = "/api/v1/pods";
  pods.query = "fieldSelector=spec.nodeName%3D" + inputs_.cluster.name;
  pods.set = [this](const json::value& object) { onPodUpdate(object); };
  pods.gone = [this](const std::string& uid, const std::string&) { end(uid); };
  pods.synced = [this] { listed(); };
  pods.trouble = [](const Error& error) {
    log::warn("watch failed; it is repeated", {{"resource", "pods"}, {"error", error.message()}});
  };
  inputs_.api.follow(std::move(pods), informer_);
}

void PodTracker::listed() {
  if (!std::exchange(synced_, true)) inputs_.synced();
  for (const auto& [id, tenant] : inputs_.tenants.all()) {
    const PodContainer& lodger = tenant->record.lodger;
    if (!lodger.uid.empty() && !pods_.contains(lodger.uid)) verify(id);
  }
}

void PodTracker::onPodUpdate(const json::value& object) {
  Result<kube::Pod> pod = kube::podOf(object);
  if (!pod)
    return log::warn("cannot read a pod; it does not count", {{"error", pod.error().message()}});
  const std::string& uid = pod->meta.uid;
  if (pod->ended()) return end(uid);
  const Dialect dialect = inputs_.cluster.dialect;
  // An error is logged when a container of the pod starts. Many pods have no devices.
  (void)understand(dialect, inputs_.devices, &*pod);
  pods_.insert_or_assign(
      uid, TrackedPod{.uid = uid,
                      .namespace_name = pod->meta.namespace_name,
                      .name = pod->meta.name,
                      .assigned = pod->meta.annotations.contains(assignmentKey(dialect)),
                      .devices = assignedCards(*pod)});
  inputs_.changed(*pod, object);
}

void PodTracker::end(const std::string& uid) {
  pods_.erase(uid);
  inputs_.ended(uid);
}

const TrackedPod* PodTracker::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

const TrackedPod* PodTracker::findByName(const std::string& namespace_name,
                                         const std::string& name) const {
  const auto found = std::find_if(pods_.begin(), pods_.end(), [&](const auto& one) {
    return one.second.namespace_name == namespace_name && one.second.name == name;
  });
  return found == pods_.end() ? nullptr : &found->second;
}

std::set<std::string> PodTracker::assigned() const {
  std::set<std::string> uids;
  for (const auto& [uid, pod] : pods_)
    if (pod.assigned) uids.insert(uid);
  return uids;
}

void PodTracker::verify(const std::string& tenant) {
  asio::co_spawn(inputs_.loop, verifyTenant(tenant), rethrow);
}

asio::awaitable<void> PodTracker::verifyTenant(std::string id) {
  while (!inputs_.shutdown.begun()) {
    TenantPtr tenant = inputs_.tenants.find(id);
    if (tenant == nullptr) co_return;
    const PodContainer lodger = tenant->record.lodger;
    tenant.reset();
    if (pods_.contains(lodger.uid)) co_return;
    const NodeApiClient::Reply object = co_await inputs_.api.pod(lodger.namespace_name, lodger.pod);
    bool over = !object && object.error().code() == ErrorCode::kNotFound;
    const bool answered = object || over;
    if (object) {
      const Result<kube::Pod> now = kube::podOf(*object);
      over = now && (now->ended() || now->meta.uid != lodger.uid);
    }
    if (over) endTenantsOfPod(inputs_.tenants, lodger.uid);
    if (answered) co_return;
    asio::steady_timer pause(inputs_.loop, kPause);
    co_await pause.async_wait(kNoThrow);
  }
}

}  // namespace divvy::agent
