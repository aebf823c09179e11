// Which priority on devices a pod and its containers have, written where agents read it. Pure.
// Private.
#pragma once

#include <map>
#include <string>

#include <boost/json/value.hpp>

#include "kube/pod.h"
#include "scheduler/device_priority.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Annotations for a pod that does not say it in our words: of containers by the resource of HAMi's
// (0 is high, others are low), of the pod by its PriorityClass. `object`: what it was read from.
std::map<std::string, std::string> priorityNotes(const kube::Pod& pod,
                                                 const boost::json::value& object,
                                                 const vendors::Catalog& catalog,
                                                 const PriorityRules& rules);

}  // namespace divvy::scheduler
