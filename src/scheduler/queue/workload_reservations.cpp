#include "queue/workload_reservations.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace divvy::scheduler {

Result<void> WorkloadReservations::reserve(const std::string& workload,
                                           std::vector<ExpectedGang> gangs,
                                           engine::Instant expires) {
  release(workload);
  std::vector<kube::Pod> pods;
  for (const ExpectedGang& one : gangs) pods.insert(pods.end(), one.pods.begin(), one.pods.end());
  Pods others = others_();
  addPods(&others);
  const Result<std::vector<Reservation>> reserved =
      gang_planner_.reserve(pods, others, {}, expires);
  if (!reserved) {
    for (const kube::Pod& pod : pods) cache_.unreserve(pod.meta.uid, true);
    return reserved.error();
  }
  for (ExpectedGang& one : gangs) {
    Expected& expected = gangs_[one.gang];
    // Another workload's gang of that name: its pods cannot be told from these.
    for (const kube::Pod& pod : expected.pods) cache_.unreserve(pod.meta.uid, true);
    expected = {workload, std::move(one.pods), 0, expires};
  }
  return {};
}

void WorkloadReservations::release(const std::string& workload) {
  for (auto gang = gangs_.begin(); gang != gangs_.end();) {
    if (gang->second.workload != workload) {
      ++gang;
      continue;
    }
    for (const kube::Pod& pod : gang->second.pods) cache_.unreserve(pod.meta.uid, true);
    gang = gangs_.erase(gang);
  }
}

void WorkloadReservations::releaseAll() {
  for (const auto& [key, expected] : gangs_)
    for (const kube::Pod& pod : expected.pods) cache_.unreserve(pod.meta.uid, true);
  gangs_.clear();
}

bool WorkloadReservations::holds(const std::string& workload) const {
  bool found = false;
  for (const auto& [key, expected] : gangs_) {
    if (expected.workload != workload) continue;
    found = true;
    const bool all = std::all_of(
        expected.pods.begin(), expected.pods.end(),
        [this](const kube::Pod& pod) { return cache_.pods().nodeOf(pod.meta.uid).has_value(); });
    if (!all) return false;
  }
  return found;
}

std::vector<Result<void>> WorkloadReservations::tryInTurn(
    const std::vector<std::vector<ExpectedGang>>& workloads, const std::function<bool()>& over) {
  constexpr engine::Instant kNever{std::numeric_limits<std::int64_t>::max()};
  std::vector<Result<void>> results;
  cache_.tryOut([&] {
    Pods others = others_();
    addPods(&others);
    Pods tried;
    for (const std::vector<ExpectedGang>& gangs : workloads) {
      if (!results.empty() && over()) break;
      std::vector<kube::Pod> pods;
      for (const ExpectedGang& one : gangs)
        pods.insert(pods.end(), one.pods.begin(), one.pods.end());
      const Result<std::vector<Reservation>> reserved =
          gang_planner_.reserve(pods, others, {}, kNever);
      results.push_back(reserved ? Result<void>() : reserved.error());
      for (const ExpectedGang& gang : gangs) {
        for (const kube::Pod& pod : gang.pods) {
          tried.push_back(&pod);
          if (reserved) others.push_back(&pod);
        }
      }
    }
    for (const kube::Pod* pod : tried) cache_.unreserve(pod->meta.uid, true);
  });
  return results;
}

void WorkloadReservations::addPods(Pods* all) const {
  for (const auto& [key, expected] : gangs_)
    for (const kube::Pod& pod : expected.pods) all->push_back(&pod);
}

void WorkloadReservations::handOver(const std::string& gang, std::size_t pods) {
  const auto found = gangs_.find(gang);
  if (found == gangs_.end()) return;
  Expected& expected = found->second;
  // Expired reservations are not made again.
  std::erase_if(expected.pods, [this](const kube::Pod& pod) {
    if (cache_.pods().nodeOf(pod.meta.uid)) return false;
    cache_.unreserve(pod.meta.uid, true);
    return true;
  });
  if (expected.pods.empty()) {
    gangs_.erase(found);
    return;
  }
  expected.in_hand_over = std::min(pods, expected.pods.size());
  for (std::size_t i = expected.pods.size() - expected.in_hand_over; i < expected.pods.size(); ++i)
    cache_.unreserve(expected.pods[i].meta.uid, true);
}

void WorkloadReservations::endHandOver(const std::string& gang, bool reserved) {
  const auto found = gangs_.find(gang);
  if (found == gangs_.end()) return;
  Expected& expected = found->second;
  if (expected.in_hand_over == 0) return;
  const auto first = expected.pods.end() - static_cast<std::ptrdiff_t>(expected.in_hand_over);
  expected.in_hand_over = 0;
  if (!reserved) {
    const std::vector<kube::Pod> again(first, expected.pods.end());
    Pods others = others_();
    addPods(&others);
    // If they do not fit any more, the pods are reserved for as any others are.
    if (gang_planner_.reserve(again, others, {}, expected.expires)) return;
    for (const kube::Pod& pod : again) cache_.unreserve(pod.meta.uid, true);
  }
  expected.pods.erase(first, expected.pods.end());
  if (expected.pods.empty()) gangs_.erase(found);
}

}  // namespace divvy::scheduler
