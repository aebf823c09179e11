#include "preemption/eviction_attempts.h"

#include <utility>

namespace divvy::scheduler {

std::set<std::string> PodSet::uids() const {
  std::set<std::string> all;
  for (const kube::Pod& pod : pods) all.insert(pod.meta.uid);
  return all;
}

const EvictionAttempt* EvictionAttempts::add(EvictionAttempt attempt) {
  const std::vector<kube::Pod>& pods = attempt.pod_set.pods;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (cache_.nominate(pods[i], attempt.plan.places[i], attempt.until)) continue;
    while (i-- > 0) cache_.denominate(pods[i].meta.uid);
    return nullptr;
  }
  attempt.serial = ++serials_;
  const std::string key = attempt.pod_set.key;
  return &all_.insert_or_assign(key, std::move(attempt)).first->second;
}

void EvictionAttempts::remove(const std::string& key) {
  const auto at = all_.find(key);
  if (at == all_.end()) return;
  for (const kube::Pod& pod : at->second.pod_set.pods) cache_.denominate(pod.meta.uid);
  all_.erase(at);
}

void EvictionAttempts::clear() {
  while (!all_.empty()) remove(std::string(all_.begin()->first));
}

const EvictionAttempt* EvictionAttempts::find(const std::string& key) const {
  const auto at = all_.find(key);
  return at == all_.end() ? nullptr : &at->second;
}

std::vector<std::string> EvictionAttempts::keysOf(const std::string& uid) const {
  std::vector<std::string> keys;
  for (const auto& [key, attempt] : all_)
    if (attempt.pod_set.uids().contains(uid)) keys.push_back(key);
  return keys;
}

std::vector<std::string> EvictionAttempts::expired(engine::Instant now) const {
  std::vector<std::string> keys;
  for (const auto& [key, attempt] : all_)
    if (attempt.until <= now) keys.push_back(key);
  return keys;
}

void EvictionAttempts::pruneStuck(const RunningPods& running_pods) {
  std::erase_if(stuck_, [&](const std::string& uid) { return running_pods.find(uid) == nullptr; });
}

std::set<std::string> EvictionAttempts::terminating(const RunningPods& running_pods) const {
  std::set<std::string> gone;
  for (const std::string& uid : running_pods.terminating())
    if (!stuck_.contains(uid)) gone.insert(uid);
  return gone;
}

std::set<std::string> EvictionAttempts::terminatingBut(const std::string& key,
                                                       const RunningPods& running_pods) const {
  std::set<std::string> gone = terminating(running_pods);
  for (const auto& [other, attempt] : all_)
    if (other != key) gone.insert(attempt.plan.victims.begin(), attempt.plan.victims.end());
  return gone;
}

}  // namespace divvy::scheduler
