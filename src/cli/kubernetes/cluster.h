// A cluster from its API server, with the user's rights, in the scheduler's own cache. Decisions
// here are those of the scheduler, except for reservations that it has not written yet.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "engine/config.h"
#include "engine/pool.h"
#include "kube/pod.h"
#include "kubernetes/kube_api.h"
#include "kubernetes/kube_filters.h"
#include "options/options.h"
#include "scheduler/cache.h"
#include "scheduler/dry_run.h"
#include "vendors/catalog.h"

namespace divvy::cli {

// A pod that holds or requests devices.
struct ClusterPod {
  kube::Pod pod;
  std::int64_t since_ms = 0;  // creation, milliseconds since 1970; 0: unknown
  std::string unscheduled;    // kube-scheduler's reason why it is not bound
};

class Cluster {
 public:
  // Reads nodes, pods and quotas with the user's rights.
  static Result<std::unique_ptr<Cluster>> read(const ClusterChoice& choice);
  // Also reads queues and disruption budgets, for questions about the effects on pods. Unreadable
  // objects are left out and added to troubles().
  void readMore();

  KubeApi& api() { return *api_; }
  scheduler::SchedulerCache& cache() { return cache_; }
  const scheduler::SchedulerCache& cache() const { return cache_; }
  scheduler::SchedulingDryRun& forecast() { return forecast_; }
  const std::map<std::string, ClusterPod>& pods() const { return pods_; }  // by UID
  const vendors::Catalog& catalog() const { return catalog_; }
  const engine::Config& config() const { return config_; }
  const std::vector<engine::Pool>& pools() const { return pools_; }
  // Errors of pods with an allocation that cannot be read.
  const std::vector<std::string>& unreadPods() const { return unread_pods_; }
  // Errors of reading or parsing; may be empty.
  const std::vector<std::string>& troubles() const { return troubles_; }

  // Returns the nodes that kube-scheduler would pass on for the pod; `why` gets the reasons of all
  // others.
  std::vector<std::string> nodesFor(const boost::json::value& pod,
                                    std::map<std::string, std::string>* why) const;
  // Returns the nodes that the pod might fit on if other pods ended.
  std::vector<std::string> nodesToClear(const boost::json::value& pod) const;
  // Returns the least number of members of a gang, from a manifest or else the API server. Errors:
  // those of the call, kCorrupt.
  Result<std::uint32_t> leastIn(const scheduler::MinMemberRef& in);
  void addGroups(std::map<std::string, boost::json::value> groups) { groups_.merge(groups); }
  // Change the cluster's state as if the pod was placed on the node, was removed from it, had
  // ended, or was evicted. `pod` has the node's choice of devices.
  void place(const boost::json::value& object, const kube::Pod& pod, const std::string& node);
  void unplace(const std::string& uid);
  void end(const std::string& uid);
  void evict(const std::string& uid);

 private:
  Cluster(std::unique_ptr<KubeApi> api, vendors::Catalog catalog, engine::Config config,
          std::vector<engine::Pool> pools, scheduler::SchedulingDryRun::Options terms);
  Result<void> listAll();
  void addNode(const boost::json::value& object);
  void addPod(const boost::json::value& object);
  void readQueues();
  void note(const Error& fault) { troubles_.push_back(fault.message()); }

  std::unique_ptr<KubeApi> api_;
  vendors::Catalog catalog_;
  engine::Config config_;
  std::vector<engine::Pool> pools_;
  scheduler::SchedulerCache cache_;
  scheduler::SchedulingDryRun forecast_;
  KubeFilters filters_;
  std::map<std::string, ClusterPod> pods_;
  std::map<std::string, boost::json::value> groups_;  // by path; of manifests
  std::vector<std::string> troubles_, unread_pods_;
};

// A pod as the API server would create it now: with defaults, and accepted by its webhooks,
// policies and quotas. The request is a dry run that creates nothing. kUsage: it would be refused,
// and why.
struct DryPod {
  boost::json::value object;
  kube::Pod pod;
};
Result<DryPod> dryRun(KubeApi& api, boost::json::object pod, const std::string& ns);

}  // namespace divvy::cli
