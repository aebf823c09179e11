// A cluster as its API server tells it to a user, in the books that the scheduler keeps: what is
// decided here is what the scheduler would decide now, but for what it has promised and not written
// yet.
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

// A pod that holds devices, or asks for them.
struct ClusterPod {
  kube::Pod pod;
  std::int64_t since_ms = 0;  // when it was made, since 1970; 0: not known
  std::string unscheduled;    // why kube-scheduler says that it is nowhere
};

class Cluster {
 public:
  // Reads nodes, pods and quotas with the user's rights.
  static Result<std::unique_ptr<Cluster>> read(const ClusterChoice& choice);
  // And queues, and budgets of disruptions, for those who ask what would become of pods. What may
  // not be read is none; it is among the troubles.
  void readMore();

  Api& api() { return *api_; }
  scheduler::SchedulerCache& books() { return books_; }
  const scheduler::SchedulerCache& books() const { return books_; }
  scheduler::SchedulingDryRun& forecast() { return forecast_; }
  const std::map<std::string, ClusterPod>& pods() const { return pods_; }  // by UID
  const vendors::Catalog& catalog() const { return catalog_; }
  const engine::Config& config() const { return config_; }
  const std::vector<engine::Pool>& pools() const { return pools_; }
  // Of pods that hold who knows what.
  const std::vector<std::string>& unreadPods() const { return unread_pods_; }
  // What could not be understood, or not be read; may be empty.
  const std::vector<std::string>& troubles() const { return troubles_; }

  // The nodes that kube-scheduler would ask about, and of the others why not.
  std::vector<std::string> nodesFor(const boost::json::value& pod,
                                    std::map<std::string, std::string>* why) const;
  // The nodes where it might be if others had ended.
  std::vector<std::string> nodesToClear(const boost::json::value& pod) const;
  // How many members a gang has at least: as a manifest says it, or else the API server. Errors: as
  // of the call, kCorrupt.
  Result<std::uint32_t> leastIn(const scheduler::MinMemberRef& in);
  void addGroups(std::map<std::string, boost::json::value> groups) { groups_.merge(groups); }
  // As if it were on that node (with `pod` as it was there chosen), and then were not; as if it had
  // ended, or been evicted.
  void place(const boost::json::value& object, const kube::Pod& pod, const std::string& node);
  void unplace(const std::string& uid);
  void end(const std::string& uid);
  void evict(const std::string& uid);

 private:
  Cluster(std::unique_ptr<Api> api, vendors::Catalog catalog, engine::Config config,
          std::vector<engine::Pool> pools, scheduler::SchedulingDryRun::Options terms);
  Result<void> listAll();
  void addNode(const boost::json::value& object);
  void addPod(const boost::json::value& object);
  void readQueues();
  void note(const Error& fault) { troubles_.push_back(fault.message()); }

  std::unique_ptr<Api> api_;
  vendors::Catalog catalog_;
  engine::Config config_;
  std::vector<engine::Pool> pools_;
  scheduler::SchedulerCache books_;
  scheduler::SchedulingDryRun forecast_;
  KubeFilters filters_;
  std::map<std::string, ClusterPod> pods_;
  std::map<std::string, boost::json::value> groups_;  // by path, of manifests
  std::vector<std::string> troubles_, unread_pods_;
};

// A pod as the API server would make it now: completed, and judged by its webhooks, policies and
// quotas; it is asked as a dry run, which makes nothing. kUsage: it would be refused, and why.
struct DryPod {
  boost::json::value object;
  kube::Pod pod;
};
Result<DryPod> dryRun(Api& api, boost::json::object pod, const std::string& space);

}  // namespace divvy::cli
