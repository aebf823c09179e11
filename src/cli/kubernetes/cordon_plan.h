// Devices of a cluster to cordon, and the pods that a drain evicts. Pure.
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

// UUIDs of devices of one node, by the annotation that cordons them.
using Cordons = std::map<std::string, std::set<std::string>>;

// Returns the devices to cordon. `device` is an index, a UUID, or empty for all of the node.
// kNotFound: no such device; the message lists the existing ones. kUnsupported: the vendor's own
// plugin serves the node, or the family has no such annotation; the message has the remedy. kUsage:
// an index that several devices have.
Result<Cordons> cordonsOf(const std::vector<scheduler::DeviceUsage>& devices,
                          const std::string& node, const std::string& device,
                          const vendors::Catalog& catalog);

// Return an annotation's list with or without these items; other items keep their place.
std::string listWith(const std::string& list, const std::set<std::string>& items);
std::string listWithout(const std::string& list, const std::set<std::string>& items);

// Returns whether the pod is only mirrored by the API server, so that evicting it does not end it.
bool isStatic(const kube::Pod& pod);
// Returns why the pod is evicted with --force only; empty: it may be evicted, or ends already.
std::string whyNotToEvict(const kube::Pod& pod);

}  // namespace divvy::cli
