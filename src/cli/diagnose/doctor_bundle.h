// Content of `divvy doctor --bundle`: the report, and data of agents and the cluster that may be
// shared.
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

// All results of an examination.
struct Examined {
  doctor::Report report;
  std::vector<AgentTalk> talks;
  std::string driver;  // content of /proc/driver/nvidia/version; empty: none
  std::optional<ClusterObservation> observation;
  std::unique_ptr<KubeApi> api;  // of the cluster; null: not asked
};

// Reads the cluster's last events and Divvy's ConfigMaps; unreadable ones are listed as left out.
// Removes command lines from `examined`.
doctor::Bundle bundleOf(Examined& examined, bool redact_names);

}  // namespace divvy::cli
