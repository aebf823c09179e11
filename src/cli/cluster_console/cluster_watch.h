// A cluster that watches keep up to date, with the user's rights.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster_console/cluster_reading.h"
#include "console/cluster_source.h"
#include "kubernetes/cluster.h"

namespace divvy::cli {

// Nodes, pods, quotas, budgets, queues and namespaces are watched by a thread of this object. The
// cluster is used on that thread only.
class ClusterWatch {
 public:
  struct Options {
    ClusterChoice cluster;
    std::string team_label;       // label of namespaces with the name of their team
    std::string agent_namespace;  // namespace of Divvy's agents
  };
  // Connects and begins to read. Errors: those of Cluster::open().
  static Result<std::unique_ptr<ClusterWatch>> start(const Options& options);
  // Ends all watches.
  ~ClusterWatch();

  // Name of the kubeconfig's context, or else the server.
  const std::string& name() const;

  // Returns the state of the cluster. kUnavailable: the thread is busy for longer than `bound`.
  Result<console::ClusterReading> read(std::chrono::milliseconds bound);

  // Returns the running agents; none if the thread is busy for longer than `bound`.
  std::vector<AgentPod> agents(std::chrono::milliseconds bound);

  // Runs `work` on the thread. `work` may run after kUnavailable was returned, so it owns all that
  // it refers to.
  Result<void> run(std::function<void(Cluster&)> work, std::chrono::milliseconds bound);

 private:
  class Impl;
  explicit ClusterWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::cli
