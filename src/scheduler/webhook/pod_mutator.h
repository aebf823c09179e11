// The pod mutator: the webhook's changes of a pod that requests devices, beside its scheduler. The
// vendors' agents and libraries expect them. Source: facts on the incumbent's control plane, 1.1,
// 1.2 and 3.4. Pure. Private.
#pragma once

#include <map>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/pod.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Returns JSON patches (RFC 6902) for `object`, from which `pod` was read. Patches of an object
// that has them already are empty. `notes`: further annotations, by key. kUsage names container,
// resource and accepted values. The patches add:
//   - a count, for a request for parts of one device only;
//   - all compute, for a request for a whole device;
//   - memory rounded up to the part's, counts rounded up to pairs;
//   - sums over several devices, where the kind's resources are sums;
//   - environment, annotations and the runtime class of the kind's descriptor; `notes`.
Result<boost::json::array> mutatePod(const kube::Pod& pod, const boost::json::value& object,
                                     const vendors::Catalog& catalog,
                                     const std::map<std::string, std::string>& notes = {});

}  // namespace divvy::scheduler
