#include "kube/pod.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

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

// RFC 3339 in UTC, as API servers write instants. 0: it is none.
std::int64_t secondsOf(const std::string& text) {
  std::tm parts{};
  const int read =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec);
  if (read != 6) return 0;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return std::max<std::int64_t>(timegm(&parts), 0);
}

void readStatus(Members& status, Pod* pod) {
  std::string phase;
  status.text("phase", &phase);
  pod->phase = phaseOf(phase);
  status.text("nominatedNodeName", &pod->nominated);
  status.each("conditions", [&](Members& one) {
    std::string type, so, since;
    one.text("type", &type);
    one.text("status", &so);
    one.text("lastTransitionTime", &since);
    if (type == "PodScheduled" && so == "True") pod->placed_at = secondsOf(since);
  });
}

}  // namespace

Result<Pod> podOf(const json::value& object) {
  Members members(object, "");
  Pod pod;
  readMeta(members, &pod.meta);
  members.in("metadata", [&](Members& meta) {
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
    pod.preempts = preemption != "Never";
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
