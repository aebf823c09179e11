// What a pod that asks for devices gets when it is made, beside its scheduler: what its vendors'
// agents and libraries expect to find there. Source: facts on the incumbent's control plane, 1.1,
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

// JSON patches (RFC 6902) of `object`, which `pod` was read from; asking again for what comes of
// them asks for none. kUsage: which container and resource, what is accepted.
//   - a count where only parts of one device are asked for;
//   - all compute, where all of a device is meant;
//   - memory rounded up to the part that it will be; counts to pairs;
//   - sums for several devices, where the kind's words are sums;
//   - environment, annotations and the runtime class as the kind's descriptor has them; `notes`.
Result<boost::json::array> mutatePod(const kube::Pod& pod, const boost::json::value& object,
                                     const vendors::Catalog& catalog,
                                     const std::map<std::string, std::string>& notes = {});

}  // namespace divvy::scheduler
