// Workloads of Kueue for tests, and the decision on them in a world of gated pods.
#pragma once

#include <string>

#include "gate_world.h"
#include "kube/kueue.h"
#include "kueue/workload_fit.h"

namespace divvy::scheduler {

// A workload of namespace lab whose only pod set, main, has `count` pods with one device each; its
// UID is NAME.
kube::KueueWorkload workloadOf(const std::string& name, std::int64_t count,
                               const Texts& annotations = {});
// The pods that a job makes of it once Kueue has admitted it, "NAME-0" and on, with the annotations
// of the decision.
std::vector<kube::Pod> podsOf(const kube::KueueWorkload& workload, const FitDecision& decision);
WorkloadFit fitIn(Life* life);

}  // namespace divvy::scheduler
