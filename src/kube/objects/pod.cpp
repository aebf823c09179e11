#include "kube/pod.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "objects/pod_fields.h"
#include "objects/read_meta.h"

namespace divvy::kube {
namespace {

PodContainer containerOf(Members& from) {
  PodContainer container;
  std::string restart;
  from.text("name", &container.name);
  from.text("restartPolicy", &restart);
  container.sidecar = restart == kAlways;
  from.in("resources", [&](Members& resources) {
    resources.quantities("limits", &container.limits);
    resources.quantities("requests", &container.requests);
  });
  from.in("securityContext",
          [&](Members& context) { context.flag("privileged", &container.privileged); });
  return container;
}

void readStatus(Members& status, Pod* pod) {
  std::string phase;
  status.text("phase", &phase);
  pod->phase = phaseOf(phase);
  status.text("nominatedNodeName", &pod->nominated);
  status.each("conditions", [&](Members& one) {
    PodCondition said;
    std::string since;
    one.text("type", &said.type);
    one.text("status", &said.status);
    one.text("message", &said.message);
    one.text("lastTransitionTime", &since);
    take(std::move(said), rfc3339Seconds(since, Rfc3339Form::kAnyOffset), pod);
  });
}

}  // namespace

PodPhase phaseOf(std::string_view text) {
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  if (text == "Unknown") return PodPhase::kUnknown;
  return PodPhase::kPending;
}

void take(PodCondition condition, std::int64_t since, Pod* pod) {
  if (condition.type == "PodScheduled" && condition.status == "True")
    pod->placed_at = std::max<std::int64_t>(since, 0);
  // Kubernetes' own types have no domain.
  if (condition.type.find('/') != std::string::npos)
    pod->conditions.push_back(std::move(condition));
}

Result<Pod> podOf(const json::value& object) {
  Members members(object, "");
  Pod pod;
  readMeta(members, &pod.meta);
  members.in("metadata", [&](Members& meta) {
    meta.text("creationTimestamp", &pod.created);
    meta.each("ownerReferences", [&](Members& one) {
      bool controls = false;
      one.flag("controller", &controls);
      if (controls) one.text("kind", &pod.controller);
    });
  });
  members.in("spec", [&](Members& spec) {
    spec.text("nodeName", &pod.node);
    spec.text("schedulerName", &pod.scheduler);
    spec.number("priority", &pod.priority);
    std::string preemption;
    spec.text("preemptionPolicy", &preemption);
    pod.preempts = preemption != kNever;
    spec.number("terminationGracePeriodSeconds", &pod.grace);
    spec.quantities("overhead", &pod.overhead);
    spec.in("resources", [&](Members& whole) { whole.quantities("requests", &pod.requests); });
    spec.each("initContainers", [&](Members& one) { pod.init.push_back(containerOf(one)); });
    spec.each("containers", [&](Members& one) {
      pod.containers.push_back(containerOf(one));
      pod.containers.back().sidecar = false;
    });
    spec.each("schedulingGates",
              [&](Members& one) { one.text("name", &pod.gates.emplace_back()); });
  });
  members.in("status", [&](Members& status) { readStatus(status, &pod); });
  if (!members.ok()) return members.error();
  return pod;
}

}  // namespace divvy::kube
