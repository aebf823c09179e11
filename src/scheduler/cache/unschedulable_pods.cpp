#include "cache/unschedulable_pods.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace divvy::scheduler {
namespace {

constexpr std::int64_t kFirstPauseMs = 1'000;
constexpr unsigned kMaxDoublings = 6;
// Looked at in one go: each is a decision, while kube-scheduler waits.
constexpr std::size_t kMaxLooks = 256;

}  // namespace

void UnschedulablePods::enter(const kube::Pod& pod, engine::Request request) {
  const auto [at, fresh] = refused_.try_emplace(pod.meta.uid);
  Entry& one = at->second;
  if (fresh) one.turn = ++turns_;
  one.namespace_name = pod.meta.namespace_name;
  one.name = pod.meta.name;
  one.priority = pod.priority;
  one.request = std::move(request);
}

bool UnschedulablePods::mayRequeue(engine::Instant now) const {
  if (refused_.empty()) return false;
  if (open_) return true;
  return std::any_of(refused_.begin(), refused_.end(), [&](const auto& one) {
    return one.second.calls > 0 && one.second.next <= now;
  });
}

std::vector<PodRef> UnschedulablePods::popSchedulable(
    std::size_t most, engine::Instant now, const std::function<bool(const engine::Request&)>& fits,
    const std::function<bool()>& over) {
  open_ = false;
  std::vector<Entry*> order;
  for (auto& [uid, one] : refused_)
    if (one.next <= now && one.round < round_) order.push_back(&one);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return std::tuple(-a->priority, a->turn) < std::tuple(-b->priority, b->turn);
  });
  std::vector<PodRef> called;
  std::size_t looks = 0;
  for (Entry* one : order) {
    if (called.size() == most || looks == kMaxLooks || over()) {
      open_ = true;  // for the others
      return called;
    }
    ++looks;
    one->round = round_;
    if (!fits(one->request)) continue;
    called.push_back({one->namespace_name, one->name});
    one->next = {now.ms + (kFirstPauseMs << std::min(one->calls, kMaxDoublings))};
    ++one->calls;
  }
  ++round_;
  return called;
}

std::vector<UnschedulablePod> UnschedulablePods::all() const {
  std::vector<UnschedulablePod> all;
  all.reserve(refused_.size());
  for (const auto& [uid, one] : refused_) all.push_back({uid, one.namespace_name, one.name});
  return all;
}

const engine::Request* UnschedulablePods::unschedulableRequest(const std::string& uid) const {
  const auto found = refused_.find(uid);
  return found == refused_.end() ? nullptr : &found->second.request;
}

}  // namespace divvy::scheduler
