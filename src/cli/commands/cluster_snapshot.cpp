// `divvy snapshot --cluster`: the state of a cluster's scheduler, for the simulator.
#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "commands/commands.h"
#include "engine/engine.h"
#include "kubernetes/cluster.h"
#include "snapshot/text.h"

namespace divvy::cli {
namespace {

engine::Instant wallTime() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

std::string nameOf(const ClusterPod& one) {
  return one.pod.meta.namespace_name + '/' + one.pod.meta.name;
}

// The request that a pod would make today; requests that can never be valid are left out.
std::optional<engine::Request> requestOf(const Cluster& cluster, const ClusterPod& one) {
  const Result<std::optional<engine::Request>> request = cluster.cache().pods().requestFor(one.pod);
  if (!request || !*request) return std::nullopt;
  return cluster.cache().pods().engine().decide(**request) ? *request : std::nullopt;
}

void addHeld(const Cluster& cluster, snapshot::Snapshot* snapshot) {
  for (engine::Allocation& held : cluster.cache().pods().engine().allocations()) {
    const auto known = cluster.pods().find(held.id.text);
    if (known == cluster.pods().end()) continue;
    const ClusterPod& one = known->second;
    snapshot::HeldAllocation allocated;
    allocated.allocation = std::move(held);
    allocated.name = nameOf(one);
    allocated.priority = one.pod.priority;
    allocated.since = {one.since_ms};
    allocated.user = engine::UserName(one.pod.meta.namespace_name);
    if (const auto request = requestOf(cluster, one)) allocated.shape = request->shape;
    snapshot->allocations.push_back(std::move(allocated));
  }
  std::stable_sort(snapshot->allocations.begin(), snapshot->allocations.end(),
                   [](const auto& a, const auto& b) { return a.since < b.since; });
}

// As kube-scheduler's queue: by priority, then by age. Gated pods are left out.
void addPending(const Cluster& cluster, snapshot::Snapshot* snapshot) {
  for (const auto& [uid, one] : cluster.pods()) {
    if (!one.pod.node.empty() || one.pod.ended() || !one.pod.gates.empty()) continue;
    const auto request = requestOf(cluster, one);
    if (!request) continue;
    snapshot->pending.push_back(
        {*request, nameOf(one), one.pod.priority, {one.since_ms}, one.unscheduled});
  }
  std::stable_sort(snapshot->pending.begin(), snapshot->pending.end(),
                   [](const auto& a, const auto& b) {
                     return std::tuple(-a.priority, a.since) < std::tuple(-b.priority, b.since);
                   });
}

}  // namespace

Result<std::string> clusterSnapshot(const ClusterChoice& choice) {
  const Result<std::unique_ptr<Cluster>> cluster = Cluster::read(choice);
  if (!cluster) return cluster.error();
  for (const std::string& trouble : (*cluster)->troubles())
    printNote("not in the snapshot: " + trouble);
  snapshot::Snapshot snapshot;
  snapshot.written_by = "divvy " DIVVY_VERSION;
  snapshot.written_at = wallTime();
  snapshot.config = (*cluster)->terms().config;
  snapshot.pools = (*cluster)->terms().pools;
  for (const engine::NodeName& name : (*cluster)->cache().pods().engine().nodes())
    if (const engine::Node* node = (*cluster)->cache().nodes().nodeNamed(name.text))
      snapshot.nodes.push_back(*node);
  addHeld(**cluster, &snapshot);
  addPending(**cluster, &snapshot);
  return snapshot::write(snapshot);
}

}  // namespace divvy::cli
