// Any bytes as a body of /preempt: refused with a reason, or read as a pod and names of nodes. The
// victims that the pod needs are then sought on 1,000 nodes. The oracle is time: no step between
// two turns of the loop costs more than 50 ms of processor time.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <boost/json.hpp>

#include "cluster_of_nodes.h"
#include "cost_bound.h"
#include "extender/protocol.h"
#include "preemption/victim_selection.h"

using namespace divvy;
using namespace divvy::scheduler;

namespace {

constexpr std::chrono::nanoseconds kBound = std::chrono::milliseconds(50);
constexpr std::int64_t kNow = 1'000'000;  // all pods have run for long enough

void need(bool so) {
  if (!so) std::abort();
}

void checkPlan(const PreemptionPlan& plan, const PreemptorPod& preemptor, const std::string& node,
               const RunningPods& pods) {
  need(plan.node == node);
  need(std::is_sorted(plan.victims.begin(), plan.victims.end()));
  for (const std::string& uid : plan.victims) {
    const RunningPod* victim = pods.find(uid);
    need(victim != nullptr && victim->node == node && victim->priority < preemptor.priority);
  }
}

void plan(const kube::Pod& pod, ClusterOfNodes& cluster) {
  SchedulerCache& cache = cluster.cache();
  Result<std::optional<engine::Request>> request = cache.pods().readRequest(pod);
  const Result<PodResources> room = podResources(pod);
  if (!request || !*request || !room) return;
  const PreemptorPod preemptor{pod.meta.uid, pod.priority, *room, std::move(**request)};
  const PreemptionOptions terms{cache.pods().config(), cache.nodes().pools(), 0, kNow};
  // As Preemptor::choose() does: the tries of all nodes together are bounded.
  IneligibleCounts ineligible;
  for (const std::string_view name : cluster.names()) {
    if (ineligible.tries >= engine::kTriesOfDecision) break;
    const std::string node(name);
    const std::optional<NodeSnapshot> snapshotOf = cache.nodes().snapshotOf(node);
    need(snapshotOf.has_value());
    const IneligibleCounts before = ineligible;
    costsAtMost(kBound, "preempt", [&] {
      ineligible = before;
      const auto found =
          selectVictims(*snapshotOf, preemptor, cluster.pods(), {}, terms, &ineligible);
      if (found && *found) checkPlan(**found, preemptor, node, cluster.pods());
    });
  }
}

}  // namespace

// Before the first input, whose time is measured.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  (void)ClusterOfNodes::instance();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const Result<ExtenderArgs> ask = parsePreempt(body);
  need(ask || !ask.error().message().empty());
  if (!ask) return 0;
  // Each name is one of the body's.
  for (const std::string_view name : ask->names)
    need(name.data() >= body.data() && name.data() + name.size() <= body.data() + body.size());
  boost::system::error_code fault;
  const boost::json::value said = boost::json::parse(preemptAnswer(), fault);
  need(!fault && said.is_object());
  ClusterOfNodes& cluster = ClusterOfNodes::instance();
  plan(cluster.fresh(ask->pod), cluster);
  return 0;
}
