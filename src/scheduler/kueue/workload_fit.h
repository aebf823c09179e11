// Whether a workload of Kueue fits now: the decision of the admission check divvy.dev/fit. Pure.
// Private.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/units.h"
#include "kube/kueue.h"
#include "preemption/gated_preemption.h"
#include "queue/workload_reservations.h"
#include "scheduler/cache.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// States of an admission check. Source: kueue.x-k8s.io/v1beta2, CheckState.
enum class FitState : std::uint8_t {
  kPending,   // decide again soon
  kReady,     // devices are reserved for all pods
  kRetry,     // Kueue gives the quota back, and asks again later
  kRejected,  // the workload can never fit; Kueue deactivates it
};
const char* nameOf(FitState state);

// Annotations that Kueue adds to the pods of a pod set.
struct PodSetGang {
  std::string pod_set;
  std::string gang;
  std::int64_t least = 0;  // pods that start together; 0: the template states it
};

struct FitDecision {
  FitState state = FitState::kPending;
  std::string message;
  // Seconds until Kueue asks again (kRetry), or until the next decision (kPending).
  std::int64_t retry_s = 0;
  std::vector<PodSetGang> gangs;
};

// Says why a workload gets no quota in this cluster; empty: it may get some.
using WhyNoQuota = std::function<std::string(const kube::KueueWorkload&)>;

// Whether a workload would fit. None: it was not tried.
struct FitAnswer {
  std::optional<bool> fits;
  std::string why;     // one line; empty: it fits
  bool never = false;  // it can never run here as it is
};

// Not thread-safe.
class WorkloadFit {
 public:
  // All outlive it. `preemption` null: no pod is evicted for a workload.
  struct Parts {
    const vendors::Catalog& catalog;
    SchedulerCache& cache;
    WorkloadReservations& reservations;
    GatedPreemption* preemption = nullptr;
    // Returns whether pods of the gang with this key are there.
    std::function<bool(const std::string& gang)> has_gang;
  };
  explicit WorkloadFit(Parts parts) : parts_(std::move(parts)) {}

  // Decides for a workload that has quota. kReady: the devices are reserved until `expires`.
  // `retries`: earlier decisions of kRetry.
  FitDecision decide(const kube::KueueWorkload& workload, std::int64_t retries,
                     engine::Instant expires);
  // Returns for each of `workloads` whether it would fit now, beside those before it that do. A
  // workload with reservations or pods here fits. Changes nothing. Before each one it calls `over`;
  // true: the rest are not tried. All of them have at most kMaxOfGang pods that request devices.
  // One that `refusal` refuses does not fit; null: none is refused.
  std::vector<FitAnswer> wouldFit(const std::vector<kube::KueueWorkload>& workloads,
                                  const std::function<bool()>& over,
                                  const WhyNoQuota& refusal = {}) const;
  // Reserves devices until `expires` for an admitted workload whose pods are not there yet, as far
  // as they fit.
  void restore(const kube::KueueWorkload& workload, engine::Instant expires);
  // Ends the workload's reservations, and evictions for it.
  void release(const kube::KueueWorkload& workload);
  // The reservations of all workloads.
  WorkloadReservations& reservations() { return parts_.reservations; }

 private:
  struct Expectation {
    std::vector<ExpectedGang> gangs;
    std::vector<PodSetGang> annotations;
    std::size_t pods = 0, bytes = 0;  // bytes: of annotations and labels
  };
  Result<Expectation> expectationOf(const kube::KueueWorkload& workload) const;
  FitDecision refusal(const kube::KueueWorkload& workload, const Expectation& expected,
                      const Error& error, std::int64_t retries);

  Parts parts_;
};

}  // namespace divvy::scheduler
