// Makes kube-scheduler requeue an unschedulable pod. Private.
#pragma once

#include "kube/call.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Returns a patch of the pod's annotation `divvy.dev/requeued-at`. kube-scheduler does not know why
// an extender refused a pod: only a change of the pod moves it back to the active queue before
// minutes have passed.
kube::Call requeuePatch(const PodRef& pod);

}  // namespace divvy::scheduler
