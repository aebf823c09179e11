#include "preemption/preemption_backoff.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace divvy::scheduler {
namespace {

// Each keeps the names of all nodes that would do.
constexpr std::size_t kMaxContenders = 128;
// Both requests of kube-scheduler about one attempt have arrived by then.
constexpr std::int64_t kGatherMs = 100;
// Taints, labels and volumes may have changed since.
constexpr std::int64_t kFreshMs = 10'000;
constexpr std::int64_t kFirstPauseMs = 1'000;
constexpr unsigned kMaxDoublings = 6;

engine::Instant later(engine::Instant now, std::int64_t ms) {
  return {now.ms + ms};
}

}  // namespace

PreemptionBackoff::One* PreemptionBackoff::enter(const kube::Pod& pod, engine::Instant now) {
  const std::string& uid = pod.meta.uid;
  if (!all_.contains(uid) && all_.size() >= kMaxContenders) {
    const auto least = std::min_element(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
      return a.second.contender.pod.priority < b.second.contender.pod.priority;
    });
    if (least->second.contender.pod.priority >= pod.priority) return nullptr;
    all_.erase(least);
  }
  const auto [at, fresh] = all_.try_emplace(uid);
  One& one = at->second;
  if (fresh) one.turn = ++turns_;
  one.contender.pod = pod;
  one.next = std::max(one.next, later(now, kGatherMs));
  return &one;
}

void PreemptionBackoff::refused(const kube::Pod& pod, std::span<const std::string_view> nodes,
                                engine::Instant now) {
  One* one = enter(pod, now);
  if (one == nullptr) return;
  one->contender.nodes.assign(nodes.begin(), nodes.end());
  std::sort(one->contender.nodes.begin(), one->contender.nodes.end());
  one->heard = now;
}

void PreemptionBackoff::offered(const kube::Pod& pod, std::span<const std::string_view> nodes,
                                engine::Instant now) {
  One* one = enter(pod, now);
  if (one == nullptr) return;
  std::vector<std::string>& all = one->contender.nodes;
  // They are of an earlier attempt.
  if (one->heard < later(now, -kFreshMs)) all.clear();
  all.insert(all.end(), nodes.begin(), nodes.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  one->heard = now;
}

std::optional<PreemptionCandidate> PreemptionBackoff::next(engine::Instant now) const {
  const One* best = nullptr;
  const auto key = [](const One& one) { return std::tuple(-one.contender.pod.priority, one.turn); };
  for (const auto& [uid, one] : all_) {
    if (one.next > now || one.heard < later(now, -kFreshMs)) continue;
    if (best == nullptr || key(one) < key(*best)) best = &one;
  }
  return best == nullptr ? std::nullopt : std::optional(best->contender);
}

void PreemptionBackoff::failed(const std::string& uid, engine::Instant now) {
  const auto at = all_.find(uid);
  if (at == all_.end()) return;
  at->second.next = later(now, kFirstPauseMs << std::min(at->second.tries, kMaxDoublings));
  ++at->second.tries;
}

void PreemptionBackoff::rest(const std::string& uid, engine::Instant until) {
  const auto at = all_.find(uid);
  if (at != all_.end()) at->second.next = until;
}

std::vector<kube::Meta> PreemptionBackoff::stale(engine::Instant now) {
  std::vector<kube::Meta> found;
  for (auto& [uid, one] : all_) {
    if (one.next > now || one.heard >= later(now, -kFreshMs)) continue;
    found.push_back(one.contender.pod.meta);
    failed(uid, now);
  }
  return found;
}

}  // namespace divvy::scheduler
