#include "queue/queue_charges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "annotations/queue_assignment.h"

namespace divvy::scheduler {

Result<std::string> QueueCharges::queueOf(const QueuedPod& queued) const {
  if (queued.plan && !queued.gated()) return queued.plan->queue;
  return queues_.queueFor(queued.pod.meta.namespace_name, queueNamedBy(queued.pod));
}

void QueueCharges::charge(const std::string& uid, const std::string& queue) {
  QueueTree::ReclaimOrder standing;
  if (const QueuedPod* queued = pods_.find(uid))
    standing = {queued->pod.priority, queued->pod.placed_at, queued->gang};
  queues_.charge(uid, {queue, cache_.pods().useOf(uid), std::move(standing)});
}

void QueueCharges::chargeUngated(const kube::Pod& pod) {
  ungated_.insert_or_assign(
      pod.meta.uid,
      UngatedPod{pod.meta.namespace_name, queueNamedBy(pod), {pod.priority, pod.placed_at, ""}});
  chargeUngated(pod.meta.uid);
}

void QueueCharges::chargeUngated(const std::string& uid) {
  const UngatedPod& other = ungated_.at(uid);
  const auto queue = queues_.queueFor(other.namespace_name, other.named);
  queues_.charge(uid, {queue ? *queue : "", cache_.pods().useOf(uid), other.standing});
}

void QueueCharges::release(const QueuedPods::Uids& uids) {
  for (const std::string& uid : uids) {
    cache_.unreserve(uid);
    queues_.discharge(uid);
  }
}

void QueueCharges::remove(const std::string& uid) {
  ungated_.erase(uid);
  queues_.discharge(uid);
}

std::string QueueCharges::overQuota(const std::string& uid) {
  const auto held = queues_.held().find(uid);
  if (held == queues_.held().end() || held->second.queue.empty()) return {};
  const QueueTree::QueueCharge was = held->second;
  const std::vector<ModelUsage> wanted = cache_.pods().useOf(uid);
  const bool less = std::all_of(wanted.begin(), wanted.end(), [&](const ModelUsage& one) {
    return std::any_of(was.use.begin(), was.use.end(), [&](const ModelUsage& other) {
      return other.model == one.model && one.milli <= other.milli &&
             one.mebibytes <= other.mebibytes;
    });
  });
  if (less) return {};
  queues_.discharge(uid);
  const std::optional<QueueTree::QuotaRefusal> no = queues_.checkQuota(was.queue, wanted);
  // The next check of this queue counts the larger amount.
  queues_.charge(uid, no ? was : QueueTree::QueueCharge{was.queue, wanted, was.standing});
  return no ? no->why : std::string();
}

void QueueCharges::recount() {
  queues_.setCapacity(cache_.nodes().capacity());
  for (const auto& [uid, pod] : ungated_) chargeUngated(uid);
  for (const auto& [uid, queued] : pods_.all()) {
    if (!queued.bound() || queued.pod.ended()) continue;
    const auto queue = queueOf(queued);
    charge(uid, queue ? *queue : "");
  }
}

}  // namespace divvy::scheduler
