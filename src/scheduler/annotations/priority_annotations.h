// Annotations for agents with the priority on devices of a pod and its containers. Pure. Private.
#pragma once

#include <map>
#include <string>

#include <boost/json/value.hpp>

#include "kube/pod.h"
#include "scheduler/device_priority.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Returns the priority annotations to add to a pod that lacks them. Those of containers come from
// HAMi's priority resource (0: high, other values: low), that of the pod from its PriorityClass.
// `object`: the pod's JSON.
std::map<std::string, std::string> priorityNotes(const kube::Pod& pod,
                                                 const boost::json::value& object,
                                                 const vendors::Catalog& catalog,
                                                 const PriorityRules& rules);

}  // namespace divvy::scheduler
