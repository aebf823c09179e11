#include "kube/kueue.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "objects/read_meta.h"

namespace divvy::kube {
namespace {

// Field manager of Kueue's scheduler. Source: Kueue's pkg/constants.
constexpr const char* kKueueAdmission = "kueue-admission";

// The status of a condition: "True", "False" or "Unknown"; empty: there is none.
std::string conditionOf(Members& status, std::string_view wanted) {
  std::string found;
  status.each("conditions", [&](Members& one) {
    std::string type;
    one.text("type", &type);
    if (type == wanted) one.text("status", &found);
  });
  return found;
}

void readPodSet(Members& from, KueueWorkload* workload) {
  KueuePodSet& set = workload->pod_sets.emplace_back();
  from.text("name", &set.name);
  from.number("count", &set.count);
  const json::value* pod = from.find("template");
  Result<Pod> read = pod == nullptr ? Result<Pod>(Pod{}) : podOf(*pod);
  if (!read) return from.fail("template", "a pod template: " + read.error().message());
  set.pod = std::move(*read);
  set.pod.meta.namespace_name = workload->meta.namespace_name;
}

void readAdmission(Members& admission, KueueWorkload* workload) {
  admission.each("podSetAssignments", [&](Members& one) {
    std::string name;
    one.text("name", &name);
    for (KueuePodSet& set : workload->pod_sets)
      if (set.name == name) one.number("count", &set.count);
  });
}

void readStatus(Members& status, KueueWorkload* workload) {
  workload->quota_reserved = conditionOf(status, "QuotaReserved") == "True";
  status.each("conditions", [&](Members& one) {
    std::string type, since;
    one.text("type", &type);
    one.text("lastTransitionTime", &since);
    if (type == "QuotaReserved")
      workload->quota_since =
          std::max<std::int64_t>(rfc3339Seconds(since, Rfc3339Form::kAnyOffset), 0);
  });
  workload->admitted = conditionOf(status, "Admitted") == "True";
  workload->evicted = conditionOf(status, "Evicted") == "True";
  workload->finished = conditionOf(status, "Finished") == "True";
  status.text("clusterName", &workload->cluster);
  status.list("nominatedClusterNames", &workload->nominated);
  status.in("admission", [&](Members& admission) { readAdmission(admission, workload); });
  status.each("admissionChecks", [&](Members& one) {
    KueueCheckState& state = workload->checks.emplace_back();
    one.text("name", &state.name);
    one.text("state", &state.state);
    one.text("message", &state.message);
    one.number("retryCount", &state.retries);
  });
}

}  // namespace

Result<KueueCheck> kueueCheckOf(const json::value& object) {
  Members members(object, "");
  KueueCheck check;
  readMeta(members, &check.meta);
  members.in("spec", [&](Members& spec) {
    spec.text("controllerName", &check.controller);
    check.parameters = spec.find("parameters") != nullptr;
    spec.in("parameters", [&](Members& parameters) {
      std::string kind;
      parameters.text("kind", &kind);
      if (kind == "MultiKueueConfig") parameters.text("name", &check.config);
    });
  });
  members.in("status", [&](Members& status) { check.active = conditionOf(status, "Active"); });
  if (!members.ok()) return members.error();
  return check;
}

Result<MultiKueueConfig> multiKueueConfigOf(const json::value& object) {
  Members members(object, "");
  MultiKueueConfig config;
  readMeta(members, &config.meta);
  members.in("spec", [&](Members& spec) { spec.list("clusters", &config.clusters); });
  if (!members.ok()) return members.error();
  return config;
}

Result<KueueQueue> kueueQueueOf(const json::value& object) {
  Members members(object, "");
  KueueQueue queue;
  readMeta(members, &queue.meta);
  members.in("status", [&](Members& status) {
    status.each("conditions", [&](Members& one) {
      std::string type, is, message;
      one.text("type", &type);
      one.text("status", &is);
      one.text("message", &message);
      if (type == "Active" && is == "False")
        queue.problem = message.empty() ? "it is not active" : message;
    });
  });
  if (!members.ok()) return members.error();
  return queue;
}

Result<KueueWorkload> kueueWorkloadOf(const json::value& object) {
  Members members(object, "");
  KueueWorkload workload;
  readMeta(members, &workload.meta);
  workload.of_manager = workload.meta.labels.contains("kueue.x-k8s.io/multikueue-origin");
  members.in("metadata", [&](Members& meta) {
    meta.each("managedFields", [&](Members& one) {
      std::string manager, operation;
      one.text("manager", &manager);
      one.text("operation", &operation);
      if (manager == kKueueAdmission && operation == "Apply") workload.applied = true;
    });
    meta.each("ownerReferences", [&](Members& one) {
      std::string kind, version, name;
      one.text("kind", &kind);
      one.text("apiVersion", &version);
      one.text("name", &name);
      if (kind == "Job" && version == "batch/v1") workload.job = name;
      const bool by_pods = kind == "Pod" || kind == "LeaderWorkerSet";
      workload.of_pods = workload.of_pods || by_pods;
    });
  });
  members.in("spec", [&](Members& spec) {
    spec.flag("active", &workload.active);
    spec.text("queueName", &workload.queue);
    // A WorkloadPriorityClass orders workloads only; pods keep their own priority.
    std::string kind;
    spec.in("priorityClassRef", [&](Members& ref) { ref.text("kind", &kind); });
    if (kind == "PriorityClass") spec.number("priority", &workload.priority);
    spec.each("podSets", [&](Members& one) { readPodSet(one, &workload); });
  });
  members.in("status", [&](Members& status) { readStatus(status, &workload); });
  if (!members.ok()) return members.error();
  return workload;
}

}  // namespace divvy::kube
