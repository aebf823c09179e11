#include "deviceplugin/eviction_reporter.h"

#include <ctime>
#include <utility>
#include <vector>

#include "pods/limit_bypass_report.h"

namespace divvy::agent {

void EvictionReporter::update() {
  updateIdle();
  updateBypass();
}

void EvictionReporter::podChanged(const kube::Pod& pod) {
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

void EvictionReporter::podEnded(const std::string& uid) {
  idle_deadlines_.erase(uid);
  bypass_deadlines_.erase(uid);
}

kube::Complaints EvictionReporter::earlier(const std::optional<kube::Complaints>& now,
                                           const char* key) const {
  if (now) return *now;
  const Result<kube::Complaints> before = kube::decodeComplaints(node_.published(key));
  return before ? *before : kube::Complaints{};
}

void EvictionReporter::updateIdle() {
  if (!node_.known()) return;
  std::vector<IdleContainer> containers;
  for (const auto& [id, tenant] : tenants_.all()) {
    if (tenant->record.lodger.uid.empty()) continue;
    containers.push_back({tenant->record.lodger, tenants_.compute().activityKnown(*tenant),
                          tenant->activity.use().idleMs(nowMs()),
                          tenants_.memory().stopMs(tenant->record)});
  }
  kube::Complaints idle = idlePods(containers, {std::time(nullptr), nowMs()},
                                   earlier(idle_, kube::kIdleKey), idle_deadlines_);
  if (idle_ && idle == *idle_) return;
  idle_ = std::move(idle);
  node_.publish();
}

void EvictionReporter::updateBypass() {
  const auto cases = monitor_.cases();
  if (!node_.known() || !pods_.synced() || !cases) return;
  std::vector<PodBypass> found;
  for (const LimitBypassMonitor::Case& one : *cases)
    if (const TrackedPod* pod = pods_.find(one.pod.uid); pod != nullptr)
      found.push_back({one.pod.uid, pod->namespace_name, pod->name, one.what, one.since});
  const bool evicts = monitor_.policy().on == OnBypass::kEvict;
  kube::Complaints bypass =
      bypassPods(found, evicts, nowMs(), earlier(bypass_, kube::kBypassKey), bypass_deadlines_);
  if (bypass_ && bypass == *bypass_) return;
  bypass_ = std::move(bypass);
  node_.publish();
}

}  // namespace divvy::agent
