// Reads the state of a cluster's agents, through the API server and with the user's rights.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster_console/agent_usage.h"
#include "cluster_console/cluster_reading.h"
#include "console/cluster_source.h"
#include "kubernetes/kube_api.h"

namespace divvy::cli {

// Reads all agents again and again, on a thread of its own, at most 10 each second.
class AgentScraper {
 public:
  // Called on the scraper's thread.
  using ListAgents = std::function<std::vector<AgentPod>()>;

  AgentScraper(ConnectionOptions connection, ListAgents list);
  // Waits for a request in progress, 3 s at most.
  ~AgentScraper();
  AgentScraper(const AgentScraper&) = delete;
  AgentScraper& operator=(const AgentScraper&) = delete;

  // Adds what the agents reported within the last minute.
  void addTo(console::ClusterReading* reading);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    AgentUsage use;
    Clock::time_point read{};   // of `use`
    Clock::time_point tried{};  // last attempt
    std::string failure;        // of the last attempt; empty: it succeeded
  };

  void serve();
  void readAll(KubeApi& api);
  void keep(const AgentPod& agent, Result<AgentUsage> use);
  // Returns true if the scraper ends.
  bool pause(std::chrono::milliseconds time);

  const ConnectionOptions connection_;
  const ListAgents list_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::map<std::string, Known> nodes_;
  std::thread thread_;
};

}  // namespace divvy::cli
