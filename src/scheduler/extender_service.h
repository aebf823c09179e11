// Answers kube-scheduler's extender calls: /filter, /prioritize, /preempt, /bind. Private.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "extender/binder.h"
#include "extender/protocol.h"
#include "http/server.h"
#include "preemption/preemption_controller.h"
#include "queue/gate_controller.h"
#include "queue/requeuer.h"
#include "runtime/informers.h"
#include "runtime/lease_watcher.h"
#include "scheduler/cache.h"
#include "scheduler/server.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// For one thread, that of the loop. All references outlive it.
class ExtenderService {
 public:
  struct Parts {
    SchedulerCache& cache;
    GateController& gate;
    PreemptionController& preemption;
    Requeuer& requeuer;
    Binder& binder;
    LeaseWatcher& lease;
    const Informers& informers;
    Counters& counts;
    const SchedulerOptions& options;
    std::function<std::string()> why_not;  // why nothing is placed here now; empty: it is
  };
  explicit ExtenderService(Parts parts) : parts_(std::move(parts)) {}

  std::vector<http::Route> routes();

 private:
  http::Answer filter(const http::Query& query);
  // kube-scheduler continues without our scores: an error here never fails the pod.
  http::Answer prioritize(const http::Query& query) const;
  // Victims for pods with devices are chosen by the preemption controller; kube-scheduler does not
  // know devices. Its call names the nodes that would do but for CPU, memory and the like.
  http::Answer preempt(const http::Query& query);
  // Evaluates the pod against nodes that the caller describes, such as cluster-autoscaler. No side
  // effects.
  http::Answer simulate(const ExtenderArgs& args) const;
  Result<FilterResult> choose(const ExtenderArgs& args, bool gated);
  void count(const Result<FilterResult>& result);
  engine::Instant expiry() const;

  Parts parts_;
};

}  // namespace divvy::scheduler
