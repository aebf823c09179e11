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

// For the event loop's thread only. All references outlive it.
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
    std::function<std::string()> why_not;  // why this replica does not schedule now; empty: it does
  };
  explicit ExtenderService(Parts parts) : parts_(std::move(parts)) {}

  // Returns the routes of the four calls. They refer to this object.
  std::vector<http::Route> routes();

 private:
  http::Answer filter(const http::Query& query);
  // After an error kube-scheduler continues without these scores; the pod does not fail.
  http::Answer prioritize(const http::Query& query) const;
  // Victims for pods with devices are chosen by the preemption controller; kube-scheduler does not
  // know devices. Its call names nodes that lack only CPU, memory and similar resources.
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
