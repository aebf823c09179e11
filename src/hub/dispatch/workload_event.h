// Events on workloads of Kueue. Pure, but for the clock. Private.
#pragma once

#include <string>

#include "kube/call.h"
#include "kube/object.h"

namespace divvy::hub {

struct WorkloadEvent {
  std::string reason;
  std::string message;  // cut to 1,000 bytes
  bool warning = false;
};

// Returns the call that writes the event now.
kube::Call workloadEvent(const kube::Meta& workload, WorkloadEvent event);

}  // namespace divvy::hub
