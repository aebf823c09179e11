// What an agent is told that serves a node of Kubernetes.
#pragma once

#include <string>

#include "kube/access.h"

namespace divvy::agent {

struct ClusterNode {
  std::string name;  // of the Node that this machine is
  kube::Access access;
  std::string kubelet_dir = "/var/lib/kubelet";  // its device-plugins/ and pod-resources/
  std::string resource = "nvidia.com/gpu";       // devices are counted by
  unsigned per_device = 10;                      // containers that may share one, 1 to 100
  unsigned cores = 100;  // of each device's compute, what may be promised: percent, 1 to 100
  // The kubelet is told where each device is. Only of use where it aligns processors to devices,
  // and then it is to the units that it picks itself: to others than the scheduler's, sometimes.
  bool announce_numa = false;
  std::string install_dir;  // what is mounted into containers is copied there; empty: used as it is
};

}  // namespace divvy::agent
