// What is looked at every second of a node of Kubernetes: who of its pods does not use its devices,
// who uses them past what limits it, and who has cards from another plugin.
#include <algorithm>
#include <ctime>
#include <utility>

#include "container/injection.h"
#include "deviceplugin/device_plugin.h"
#include "os/log.h"
#include "pods/foreign_allocations.h"
#include "pods/idle_report.h"
#include "pods/limit_bypass_report.h"

namespace divvy::agent {
namespace {

constexpr unsigned kHoldersEvery = 5;  // ticks

}  // namespace

void DevicePluginController::tick() {
  noteIdle();
  noteBypass();
  if (tenants_.setUnmanagedUse(bypass_watch_.occupants())) healthChanged();
  std::set<std::string> living;
  for (const auto& [id, tenant] : tenants_.all()) living.insert(id);
  injector_.look(living);
  noteFull();
  if (ticks_++ % kHoldersEvery == 0) lookForHolders();
}

void DevicePluginController::lookForHolders() {
  if (!pods_known_ || looking_ || stopped_) return;
  looking_ = true;
  ++asked_;
  pod_resources_.list([this](Held held) {
    asio::post(loop_, [this, held = std::move(held)] {
      looking_ = false;
      --asked_;
      const std::string trouble = held ? "" : held.error().message();
      if (trouble != std::exchange(held_trouble_, trouble) && !trouble.empty())
        warn("what the kubelet gave to whom cannot be seen, and this node's devices are not " +
             std::string(holders_known_ ? "looked at anew" : "registered") + ": " + trouble);
      if (!held) return;
      const auto known = [this](const std::string& space, const std::string& name) {
        return std::find_if(living_.begin(), living_.end(), [&](const auto& one) {
          return one.second.space == space && one.second.pod == name;
        });
      };
      // Who is not told of yet may be anybody's, and is looked at again soon.
      const ForeignAllocations ours{
          [&](const std::string& space, const std::string& name) {
            const auto pod = known(space, name);
            return pod == living_.end() || pod->second.given;
          },
          [&](const kubelet::PodDevices& one) {
            return tenants_.find(tenantIdFor(one.ids, one.resource)) != nullptr;
          },
          [&](const std::string& space, const std::string& name) {
            const auto pod = known(space, name);
            return pod == living_.end() ? std::set<std::string>() : cardsOf(pod->first);
          },
          [&](const std::string& space, const std::string& name) {
            const auto pod = known(space, name);
            return pod == living_.end() ? std::set<std::string>() : pod->second.cards;
          }};
      const bool first = !std::exchange(holders_known_, true);
      Holders holders = holdersOf(*held, inventory_.devices(), resources_, ours);
      if (tenants_.holdDevices(std::move(holders)) || first) healthChanged();
    });
  });
}

kube::Complaints DevicePluginController::saidBefore(const std::optional<kube::Complaints>& now,
                                                    const char* key) const {
  if (now) return *now;
  const auto said = said_.find(key);
  if (said == said_.end()) return {};
  const Result<kube::Complaints> before = kube::decodeComplaints(said->second);
  return before ? *before : kube::Complaints{};
}

void DevicePluginController::noteIdle() {
  if (said_.empty()) return;
  std::vector<IdleContainer> containers;
  for (const auto& [id, tenant] : tenants_.all()) {
    if (tenant->record.lodger.uid.empty()) continue;
    containers.push_back({tenant->record.lodger, tenants_.activityKnown(*tenant),
                          tenant->use.idleMs(nowMs()), tenants_.stopMs(tenant->record)});
  }
  kube::Complaints idle = idlePods(containers, {std::time(nullptr), nowMs()},
                                   saidBefore(idle_, kube::kIdleKey), idle_deadlines_);
  if (idle_ && idle == *idle_) return;
  idle_ = std::move(idle);
  tell();
}

void DevicePluginController::noteBypass() {
  const auto cases = bypass_watch_.cases();
  if (said_.empty() || !pods_known_ || !cases) return;
  std::vector<PodBypass> pods;
  for (const LimitBypassMonitor::Case& one : *cases) {
    const auto living = living_.find(one.pod.uid);
    if (living == living_.end()) continue;
    pods.push_back({one.pod.uid, living->second.space, living->second.pod, one.what, one.since});
  }
  const bool evicts = bypass_watch_.policy().on == OnBypass::kEvict;
  kube::Complaints found =
      bypassPods(pods, evicts, nowMs(), saidBefore(bypass_, kube::kBypassKey), bypass_deadlines_);
  if (bypass_ && found == *bypass_) return;
  bypass_ = std::move(found);
  tell();
}

// Only our scheduler writes them: what cannot be read is none.
void DevicePluginController::noteDeadlines(const kube::Pod& pod) {
  for (const auto& [key, deadlines] : {std::pair{kube::kIdleNoticeKey, &idle_deadlines_},
                                       std::pair{kube::kBypassNoticeKey, &bypass_deadlines_}}) {
    const auto said = pod.meta.annotations.find(key);
    const auto notice = said == pod.meta.annotations.end()
                            ? Result<kube::Notice>(Error{ErrorCode::kNotFound, "none"})
                            : kube::decodeNotice(said->second);
    noteDeadline(deadlines, pod.meta.uid, notice ? notice->deadline : 0, std::time(nullptr),
                 nowMs());
  }
}

}  // namespace divvy::agent
