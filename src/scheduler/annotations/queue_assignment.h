// Which queue a new pod belongs to. Pure. Private.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "kube/pod.h"

namespace divvy::scheduler {

// The webhook's decision for a pod that requests devices.
struct QueueAssignment {
  bool gate = false;  // the pod gets Divvy's scheduling gate
  std::string queue;  // empty: none
  std::string pool;   // the queue's, for pods that name no pool; empty: none
};

// Errors refuse the pod.
using GateRule = std::function<Result<QueueAssignment>(const kube::Pod&)>;

}  // namespace divvy::scheduler
