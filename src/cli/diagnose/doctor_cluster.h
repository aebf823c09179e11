// A cluster as its API server tells it to whoever examines it, with their own rights.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "doctor/cluster_facts.h"
#include "kubernetes/kube_api.h"
#include "options/options.h"
#include "vendors/catalog.h"

namespace divvy::cli {

// What was read, and of it what a bundle may have something of.
struct ClusterLook {
  doctor::ClusterFacts facts;
  std::vector<boost::json::value> nodes;  // with devices, or annotations about them
  std::vector<boost::json::value> pods;   // that have devices, or ask for some
  boost::json::value lease;               // null: none
};

// By which names devices are known there. kUsage: what of it is wrong where.
Result<vendors::Catalog> catalogFor(const ClusterChoice& choice);

// Never fails: what could not be read is among the facts. One call after the other, each within a
// bound that is the api's. `watch`: the Lease is looked at until it is renewed, 3 s at most; else
// once.
ClusterLook lookAt(Api& api, const std::string& server, const vendors::Catalog& catalog,
                   bool watch);

// Parts of it: webhooks, policies, workloads, classes, the Lease; see doctor_workloads.cpp.
void readInstalled(Api& api, doctor::ClusterFacts* facts);
void readLease(Api& api, bool watch, doctor::ClusterFacts* facts, boost::json::value* object);

// Milliseconds since 1970 of "2026-01-01T00:00:00.123456Z"; 0: something else.
std::int64_t instantOf(const std::string& time);

}  // namespace divvy::cli
