// Nodes, pods, quotas, queues and disruption budgets of a cluster, in the scheduler's own cache.
// Decisions here are those of the scheduler, except for reservations that it has not written yet.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "engine/config.h"
#include "engine/pool.h"
#include "kube/pod.h"
#include "kubernetes/kube_filters.h"
#include "scheduler/cache.h"
#include "scheduler/dry_run.h"
#include "vendors/catalog.h"

namespace divvy::cli {

// A pod that holds or requests devices.
struct ClusterPod {
  kube::Pod pod;
  std::int64_t since_ms = 0;             // creation, milliseconds since 1970; 0: unknown
  std::string unscheduled;               // kube-scheduler's reason why it is not bound
  std::string owner;                     // "Deployment/web"; empty: none
  std::string served_model;              // name of the model that it serves; empty: not stated
  std::string model_source;              // field that names the model: "argument --model"
  std::vector<std::string> images = {};  // by container, init containers first
};

// The scheduler's configuration.
struct ClusterTerms {
  vendors::Catalog catalog;
  engine::Config config;
  std::vector<engine::Pool> pools;
  scheduler::SchedulingDryRun::Options dry_run;
};

// Objects are as API servers return them. Not thread-safe.
class ClusterState {
 public:
  explicit ClusterState(ClusterTerms terms);
  virtual ~ClusterState() = default;
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;

  scheduler::SchedulerCache& cache() { return cache_; }
  const scheduler::SchedulerCache& cache() const { return cache_; }
  scheduler::SchedulingDryRun& forecast() { return forecast_; }
  const std::map<std::string, ClusterPod>& pods() const { return pods_; }  // by UID
  const ClusterTerms& terms() const { return terms_; }

  // Add or update an object. kCorrupt: it cannot be read; the messages are those of the scheduler.
  Result<void> setNode(const boost::json::value& object);
  Result<void> setPod(const boost::json::value& object);
  Result<void> setQuota(const boost::json::value& object);
  Result<void> setBudget(const boost::json::value& object);
  Result<void> setQueue(const boost::json::value& object);
  Result<void> setNamespace(const boost::json::value& object);
  void removeNode(const std::string& uid, const std::string& name);

  // Returns the nodes that kube-scheduler would pass on for the pod; `why` gets the reasons of all
  // others.
  std::vector<std::string> nodesFor(const boost::json::value& pod,
                                    std::map<std::string, std::string>* why) const;
  // Returns the nodes that the pod might fit on if other pods ended.
  std::vector<std::string> nodesToClear(const boost::json::value& pod) const;
  // Change the state as if the pod was placed on the node, was removed from it, had ended, or was
  // evicted. `pod` has the node's choice of devices.
  void place(const boost::json::value& object, const kube::Pod& pod, const std::string& node);
  void unplace(const std::string& uid);
  // unplace() for a pod that was not set before.
  void forget(const std::string& uid);
  void end(const std::string& uid);
  void evict(const std::string& uid);

 private:
  const ClusterTerms terms_;
  scheduler::SchedulerCache cache_;
  scheduler::SchedulingDryRun forecast_;
  KubeFilters filters_;
  std::map<std::string, ClusterPod> pods_;
};

}  // namespace divvy::cli
