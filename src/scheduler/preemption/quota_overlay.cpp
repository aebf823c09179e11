#include "preemption/quota_overlay.h"

#include <utility>

namespace divvy::scheduler {

QuotaOverlay::~QuotaOverlay() {
  for (const std::string& uid : added_) queues_.discharge(uid);
  for (auto& [uid, held] : taken_) queues_.charge(uid, std::move(held));
}

void QuotaOverlay::without(const std::string& uid) {
  const auto held = queues_.held().find(uid);
  if (held == queues_.held().end()) return;
  taken_.emplace(uid, held->second);
  queues_.discharge(uid);
}

void QuotaOverlay::again(const std::string& uid) {
  const auto held = taken_.find(uid);
  if (held == taken_.end()) return;
  queues_.charge(uid, std::move(held->second));
  taken_.erase(held);
}

void QuotaOverlay::with(const std::string& name, QueueTree::QueueCharge held) {
  added_.push_back(name);
  queues_.charge(name, std::move(held));
}

}  // namespace divvy::scheduler
