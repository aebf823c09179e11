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

#include "api.h"
#include "base/result.h"
#include "engine/config.h"
#include "engine/pool.h"
#include "engine/preemption.h"
#include "kube/pod.h"
#include "kube_filters.h"
#include "options.h"
#include "scheduler/books.h"
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

  Api& api() { return *api_; }
  scheduler::Books& books() { return books_; }
  const scheduler::Books& books() const { return books_; }
  const std::map<std::string, ClusterPod>& pods() const { return pods_; }  // by UID
  const engine::Config& config() const { return config_; }
  const std::vector<engine::Pool>& pools() const { return pools_; }
  // What could not be understood, or not be read; may be empty.
  const std::vector<std::string>& troubles() const { return troubles_; }

  // "NAMESPACE/NAME", of who is not known the UID.
  std::string nameOf(const std::string& uid) const;
  // The nodes that kube-scheduler would ask about, and of the others why not.
  std::vector<std::string> nodesFor(const boost::json::value& pod,
                                    std::map<std::string, std::string>* why) const;
  // Of all pods that hold devices, but for budgets of disruptions.
  engine::Stakes stakes() const;
  // As if it were on that node (with `pod` as it was there chosen), or had ended.
  void place(const boost::json::value& object, const kube::Pod& pod, const std::string& node);
  void end(const std::string& uid);

 private:
  Cluster(std::unique_ptr<Api> api, vendors::Catalog catalog, engine::Config config,
          std::vector<engine::Pool> pools);
  Result<void> listAll();
  void addNode(const boost::json::value& object);
  void addPod(const boost::json::value& object);
  void note(const Error& fault) { troubles_.push_back(fault.message()); }

  std::unique_ptr<Api> api_;
  vendors::Catalog catalog_;
  engine::Config config_;
  std::vector<engine::Pool> pools_;
  scheduler::Books books_;
  KubeFilters filters_;
  std::map<std::string, ClusterPod> pods_;
  std::vector<std::string> troubles_;
};

// A pod as the API server would make it now: completed, and judged by its webhooks, policies and
// quotas; it is asked as a dry run, which makes nothing. kUsage: it would be refused, and why.
struct DryPod {
  boost::json::value object;
  kube::Pod pod;
};
Result<DryPod> dryRun(Api& api, boost::json::object pod, const std::string& space);

}  // namespace divvy::cli
