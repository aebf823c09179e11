#include "kueue/workload_world.h"

namespace divvy::scheduler {

kube::KueueWorkload workloadOf(const std::string& name, std::int64_t count,
                               const Texts& annotations) {
  kube::KueueWorkload workload;
  workload.meta.name = workload.meta.uid = name;
  workload.meta.namespace_name = "lab";
  workload.quota_reserved = true;
  kube::KueuePodSet& set = workload.pod_sets.emplace_back();
  set.name = "main";
  set.count = count;
  set.pod = gatedPod("", annotations);
  set.pod.gates.clear();
  return workload;
}

std::vector<kube::Pod> podsOf(const kube::KueueWorkload& workload, const FitDecision& decision) {
  std::vector<kube::Pod> pods;
  for (const kube::KueuePodSet& set : workload.pod_sets) {
    for (std::int64_t i = 0; i < set.count; ++i) {
      kube::Pod pod = set.pod;
      pod.meta.name = pod.meta.uid = workload.meta.name + '-' + std::to_string(i);
      pod.priority = workload.priority;
      pod.gates = {kQueueGate};
      for (const PodSetGang& gang : decision.gangs) {
        if (gang.pod_set != set.name) continue;
        pod.meta.annotations[kGangKey] = gang.gang;
        pod.meta.annotations[kGangLeastKey] = std::to_string(gang.least);
      }
      pods.push_back(std::move(pod));
    }
  }
  return pods;
}

WorkloadFit fitIn(Life* life) {
  return WorkloadFit(
      {allVendors(), life->cache, life->gated_pods.workloadReservations(), &life->gated_preemption,
       [life](const std::string& gang) { return life->gated_pods.pods().gangs().contains(gang); }});
}

}  // namespace divvy::scheduler
