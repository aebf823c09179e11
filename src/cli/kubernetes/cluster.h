// A cluster from its API server, with the user's rights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/pod.h"
#include "kubernetes/cluster_state.h"
#include "kubernetes/kube_api.h"
#include "options/options.h"
#include "scheduler/pod_group.h"

namespace divvy::cli {

class Cluster : public ClusterState {
 public:
  // Connects to the API server and reads no object yet.
  static Result<std::unique_ptr<Cluster>> open(const ClusterChoice& choice);
  // Reads nodes, pods and quotas with the user's rights.
  static Result<std::unique_ptr<Cluster>> read(const ClusterChoice& choice);
  // Also reads queues and disruption budgets, for questions about the effects on pods. Unreadable
  // objects are left out and added to troubles().
  void readMore();

  KubeApi& api() { return *api_; }
  // Errors of pods with an allocation that cannot be read.
  const std::vector<std::string>& unreadPods() const { return unread_pods_; }
  // Errors of reading or parsing; may be empty.
  const std::vector<std::string>& troubles() const { return troubles_; }

  // Returns the least number of members of a gang, from a manifest or else the API server. Errors:
  // those of the call, kCorrupt.
  Result<std::uint32_t> leastIn(const scheduler::MinMemberRef& in);
  void addGroups(std::map<std::string, boost::json::value> groups) { groups_.merge(groups); }

 private:
  Cluster(std::unique_ptr<KubeApi> api, ClusterTerms terms);
  Result<void> listAll();
  void addPod(const boost::json::value& object);
  void readQueues();
  void note(const Result<void>& result);

  std::unique_ptr<KubeApi> api_;
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
