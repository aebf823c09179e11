// Gives pods the label that HAMi's monitor selects them by: bindings carry annotations only.
// Private.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "codec/hami_agent_nodes.h"
#include "kube/client.h"
#include "runtime/cluster_observer.h"
#include "scheduler/server.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// Which pods lack it, and where they have to have it. Pure.
class UnlabelledPods {
 public:
  explicit UnlabelledPods(WhereAgents where) : where_(where) {}

  void set(const kube::Pod& pod, const HamiAgentNodes& agents);
  void remove(const std::string& uid);
  // One that reads the label is there since now.
  void agentCame(const std::string& node);

  struct Pod {
    std::string uid, space, name, node;
  };
  // Some of those that are to get it.
  std::vector<Pod> wanted(std::size_t most) const;

 private:
  const WhereAgents where_;
  std::map<std::string, Pod> wanted_;  // by UID
  std::unordered_map<std::string, std::map<std::string, Pod>>
      others_;                                       // by node, where nobody reads it
  std::unordered_map<std::string, std::string> on_;  // by UID of those: the node
};

// For one thread, that of the client. All outlives it.
class HamiLabelController : public ClusterObserver {
 public:
  // `why_not`: why nothing is written here now; empty: it is.
  HamiLabelController(boost::asio::any_io_executor executor, kube::Client& client,
                      HamiAgentNodes& agents, Counters& counts, WhereAgents where,
                      std::function<std::string()> why_not);

  // Keeps `agents` up to date, too.
  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;
  // It may write now, and could not before.
  void look();

 private:
  boost::asio::awaitable<void> write();

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  HamiAgentNodes& agents_;
  Counters& counts_;
  UnlabelledPods pods_;
  std::function<std::string()> why_not_;
  bool writing_ = false;
};

}  // namespace divvy::scheduler
