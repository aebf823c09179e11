// Counters of preemption plans, by result, and of evictions. Private.
#pragma once

#include <cstdint>

#include "metrics/exposition.h"

namespace divvy::scheduler {

// Plans of gated preemption, since the start of the process.
struct GatedPreemptionCounts {
  std::uint64_t planned = 0;  // started plans; of these:
  std::uint64_t started = 0;  // all pods of the plan got reservations
  std::uint64_t broken = 0;   // a victim was not evicted, or the plan was no longer needed
  std::uint64_t expired = 0;  // the pods did not start in time
  std::uint64_t none = 0;     // attempts without a plan
};

// Since the start of the process.
struct PreemptionCounts {
  std::uint64_t planned = 0;  // started plans; of these:
  std::uint64_t bound = 0;    // the pod was bound to the node
  std::uint64_t broken = 0;   // not all victims were evicted, or other pods took the capacity
  std::uint64_t expired = 0;  // the pod was not bound in time
  std::uint64_t none = 0;     // attempts without a plan
  std::uint64_t cut = 0;      // searches that left nodes out because their tries were spent
  std::uint64_t evicted = 0, forbidden = 0, refused = 0, unanswered = 0, gone = 0;  // evictions
  std::uint64_t under_way = 0;     // plans in progress now
  GatedPreemptionCounts reclaims;  // reclaims of a queue's guarantee
  GatedPreemptionCounts gated;     // by priority, for gated pods
};

inline void expose(metrics::Exposition* out, const PreemptionCounts& counts) {
  out->family("divvy_scheduler_preemptions_total", "counter",
              "Plans to evict pods for one of higher priority, by result");
  out->sample({{"result", "planned"}}, counts.planned + counts.gated.planned);
  out->sample({{"result", "bound"}}, counts.bound + counts.gated.started);
  out->sample({{"result", "broken"}}, counts.broken + counts.gated.broken);
  out->sample({{"result", "expired"}}, counts.expired + counts.gated.expired);
  out->sample({{"result", "none"}}, counts.none + counts.gated.none);
  out->family("divvy_scheduler_preemption_searches_cut_total", "counter",
              "Searches for victims that left out nodes, because their tries were spent");
  out->sample({}, counts.cut);
  out->family("divvy_scheduler_reclaims_total", "counter",
              "Plans to reclaim the guarantee of a queue, by result");
  out->sample({{"result", "planned"}}, counts.reclaims.planned);
  out->sample({{"result", "started"}}, counts.reclaims.started);
  out->sample({{"result", "broken"}}, counts.reclaims.broken);
  out->sample({{"result", "expired"}}, counts.reclaims.expired);
  out->sample({{"result", "none"}}, counts.reclaims.none);
  out->family("divvy_scheduler_evictions_total", "counter", "Requests to evict a pod, by answer");
  out->sample({{"answer", "evicted"}}, counts.evicted);
  out->sample({{"answer", "forbidden"}}, counts.forbidden);
  out->sample({{"answer", "refused"}}, counts.refused);
  out->sample({{"answer", "unanswered"}}, counts.unanswered);
  out->sample({{"answer", "gone"}}, counts.gone);
  out->family("divvy_scheduler_preemptions_in_progress", "gauge",
              "Preemptions with victims that are terminating, or with a pod that is not bound yet");
  out->sample({}, counts.under_way);
}

}  // namespace divvy::scheduler
