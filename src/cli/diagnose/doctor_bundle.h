// What `divvy doctor --bundle` collects: the report, and of agents and the cluster what may be seen
// by others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/doctor_agent.h"
#include "diagnose/doctor_cluster.h"
#include "doctor/bundle.h"
#include "doctor/report.h"
#include "kubernetes/kube_api.h"
#include "options/options.h"

namespace divvy::cli {

// All that an examination came to.
struct Examined {
  doctor::Report report;
  std::vector<AgentTalk> talks;
  std::string driver;  // what /proc/driver/nvidia/version says; empty: nothing
  std::optional<ClusterLook> look;
  std::unique_ptr<Api> api;  // the cluster's; null: none was asked
};

// Asks the cluster for its last events and for Divvy's ConfigMaps; what may not be read is among
// what was left out. Command lines are taken out of `examined`.
doctor::Bundle bundleOf(Examined& examined, bool redact_names);

}  // namespace divvy::cli
