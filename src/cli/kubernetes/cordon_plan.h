// Which devices of a cluster get nothing new, and who would have to leave them. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/pod.h"
#include "scheduler/device_usage.h"
#include "vendors/catalog.h"

namespace divvy::cli {

// Of one node: UUIDs of devices by the annotation that says of them that they get nothing new.
using Cordons = std::map<std::string, std::set<std::string>>;

// `device`: an index, a UUID, or empty for all that the node has. kNotFound: what there is;
// kUnsupported: one of a node whose vendor's own plugin gives whichever it likes, or a device whose
// family has no such annotation, and what helps there; kUsage: an index of several.
Result<Cordons> cordonsOf(const std::vector<scheduler::DeviceUsage>& devices,
                          const std::string& node, const std::string& device,
                          const vendors::Catalog& catalog);

// An annotation's list with these in it, or without them; others keep their place.
std::string listWith(const std::string& list, const std::set<std::string>& items);
std::string listWithout(const std::string& list, const std::set<std::string>& items);

// The API server only mirrors it: it would not end.
bool isStatic(const kube::Pod& pod);
// Why its end is not to be asked for unless that is said; empty: it may be, or it ends already.
std::string whyNotToEvict(const kube::Pod& pod);

}  // namespace divvy::cli
