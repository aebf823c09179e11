// A cluster in which pods wait at our gate: what an API server would keep, and a scheduler that can
// be killed between any two writes. Written without our gatekeeper.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "preemption/gated_preemption.h"
#include "queue/gated_pod_queue.h"
#include "quota/queue_tree.h"
#include "world.h"

namespace divvy::scheduler {

inline constexpr engine::Instant kMuchLater{120'000};

// `devices` whole cards of 80 GiB, of that model.
kube::Node cardsOn(const std::string& name, unsigned devices,
                   const std::string& model = "NVIDIA H100");
// Wants part of one, in percent; at the gate.
kube::Pod partOf(const std::string& name, unsigned percent, const Texts& annotations = {});
// Wants one of them; at the gate.
kube::Pod gatedPod(const std::string& name, const Texts& annotations = {});
kube::Pod memberOf(const std::string& gang, unsigned least, const std::string& name);
kube::Queue queueOf(const std::string& name, std::optional<std::int64_t> guarantee,
                    std::optional<std::int64_t> limit, const std::string& parent = "");

// What is written, whoever lives.
struct Store {
  std::vector<kube::Node> nodes;
  std::vector<kube::Queue> queues;
  std::map<std::string, kube::Pod> pods;  // by UID
  std::vector<std::string> evicted;       // UIDs, in that order
  std::int64_t clock = 1'000;             // seconds since 1970

  void add(const kube::Pod& pod) { pods[pod.meta.uid] = pod; }
  std::size_t bound(const std::string& prefix) const;
  std::size_t gated(const std::string& prefix) const;
};

// One life of a scheduler: all that it knows it has read.
class Life {
 public:
  // `least_runtime`: seconds that a pod runs before it may have to end.
  explicit Life(Store& store, std::int64_t least_runtime = 0);

  // Each is one write, or none where there is nothing to do: true if there was one.
  bool openOne();
  bool bindOne();
  bool evictOne();
  std::string ended_for;  // the key of those for whom that was last
  // Not of the scheduler's doing: the first that was told to end has.
  bool endOne();
  // All of these, until nothing happens.
  void run();
  void hear(const std::string& uid);
  void forget(const std::string& uid);
  std::string why(const std::string& uid) const;

  Store& store;
  SchedulerCache cache;
  QueueTree queues;
  RunningPods running_pods;
  DisruptionBudgets budgets;
  PreemptionCounts counts;
  engine::Instant now{0};
  GatedPreemption gated_preemption;
  NodeResourcesFit node_resources;
  GatedPodQueue gated_pods;

 private:
  std::vector<GateRemoval> openings_;
  std::size_t opened_ = 0;
};

// Four cards; `theirs` has them all, two of them are guaranteed to `ours`.
Store borrowed(unsigned cards = 4);
// So many of `ours`, p1 and on, at the gate.
void ask(Store* store, unsigned pods);
// Four cards; t1 to t4 have them, of no queue and of priorities 1 to 4.
Store taken();
// g0 and on, at the gate, and start together.
void addHigherGang(Store* store, unsigned members, std::int64_t priority,
                   const std::string& queue = "");

}  // namespace divvy::scheduler
