#include "kube/pod.h"

#include "read_meta.h"

namespace divvy::kube {
namespace {

PodPhase phaseOf(const std::string& text) {
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  if (text == "Unknown") return PodPhase::kUnknown;
  return PodPhase::kPending;
}

PodContainer containerOf(Members& from) {
  PodContainer container;
  std::string restart;
  from.text("name", &container.name);
  from.text("restartPolicy", &restart);
  container.sidecar = restart == "Always";
  from.in("resources", [&](Members& resources) {
    resources.quantities("limits", &container.limits);
    resources.quantities("requests", &container.requests);
  });
  from.in("securityContext",
          [&](Members& context) { context.flag("privileged", &container.privileged); });
  return container;
}

}  // namespace

Result<Pod> podOf(const json::value& object) {
  Members members(object, "");
  Pod pod;
  readMeta(members, &pod.meta);
  members.in("spec", [&](Members& spec) {
    spec.text("nodeName", &pod.node);
    spec.text("schedulerName", &pod.scheduler);
    spec.number("priority", &pod.priority);
    spec.each("initContainers", [&](Members& one) { pod.init.push_back(containerOf(one)); });
    spec.each("containers", [&](Members& one) {
      pod.containers.push_back(containerOf(one));
      pod.containers.back().sidecar = false;
    });
    spec.each("schedulingGates",
              [&](Members& one) { one.text("name", &pod.gates.emplace_back()); });
  });
  members.in("status", [&](Members& status) {
    std::string phase;
    status.text("phase", &phase);
    pod.phase = phaseOf(phase);
  });
  if (!members.ok()) return members.error();
  return pod;
}

}  // namespace divvy::kube
