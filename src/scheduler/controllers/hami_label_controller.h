// Writes the label by which HAMi's monitor selects pods: a binding can carry only annotations.
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

// Pods that lack the label. Pure.
class UnlabelledPods {
 public:
  explicit UnlabelledPods(WhereAgents where) : where_(where) {}

  void set(const kube::Pod& pod, const HamiAgentNodes& agents);
  void remove(const std::string& uid);
  // Records that the node now has an agent that reads the label.
  void agentCame(const std::string& node);

  struct Pod {
    std::string uid, namespace_name, name, node;
  };
  // Returns up to `most` pods that need the label now.
  std::vector<Pod> wanted(std::size_t most) const;

 private:
  const WhereAgents where_;
  std::map<std::string, Pod> wanted_;  // by UID
  std::unordered_map<std::string, std::map<std::string, Pod>>
      others_;                                       // by node without such an agent, then UID
  std::unordered_map<std::string, std::string> on_;  // node of each pod in `others_`, by UID
};

// For the client's thread only. All arguments outlive it.
class HamiLabelController : public ClusterObserver {
 public:
  // `why_not`: returns why this replica does not write now; empty: it does.
  HamiLabelController(boost::asio::any_io_executor executor, kube::Client& client,
                      HamiAgentNodes& agents, Counters& counts, WhereAgents where,
                      std::function<std::string()> why_not);

  // Also updates `agents`.
  void onPodUpdate(const kube::Pod& pod) override;
  void onPodDelete(const std::string& uid) override;
  // Starts writing labels if some are needed and `why_not` allows it. Does not block.
  void reconcile();

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
