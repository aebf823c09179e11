// A cluster's state as the console reads it. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "console/cluster_source.h"
#include "kube/queue.h"
#include "kubernetes/cluster_state.h"

namespace divvy::cli {

// An agent that serves metrics.
struct AgentPod {
  std::string namespace_name, name, node;
  unsigned port = 0;
};

// Facts that decisions do not need. Objects are as API servers return them. Not thread-safe.
class ClusterFacts {
 public:
  // What a request may name of a device.
  struct DeviceSize {
    std::uint64_t memory = 0;  // bytes
    std::string kind, model;
    friend auto operator<=>(const DeviceSize&, const DeviceSize&) = default;
  };
  // The devices of nodes; nodes with equal devices are one.
  using NodeSizes = std::set<std::vector<DeviceSize>>;

  // `team_label`: label of namespaces with the name of their team. `agent_namespace`: namespace of
  // Divvy's agents: pods elsewhere are none, whatever their labels are.
  ClusterFacts(std::string team_label, std::string agent_namespace)
      : team_label_(std::move(team_label)), agent_namespace_(std::move(agent_namespace)) {}

  void setNode(const boost::json::value& object);
  void removeNode(const std::string& name) { nodes_.erase(name); }
  void setPod(const boost::json::value& object);
  void removePod(const std::string& uid) { agents_.erase(uid); }
  void setNamespace(const boost::json::value& object);
  void removeNamespace(const std::string& name) { namespaces_.erase(name); }
  void setQueue(const boost::json::value& object);
  void removeQueue(const std::string& name) { queues_.erase(name); }

  // Returns nodes with devices, their devices and shares, pods, queues and pools. The caller adds
  // collections and events.
  console::ClusterReading read(const ClusterState& state) const;
  // Returns the running agents.
  std::vector<AgentPod> agents() const;

 private:
  struct Node {
    bool ready = true;
    bool schedulable = true;
    std::string reason;  // why it is not ready
  };
  struct Namespace {
    std::string team, queue;  // empty: none
  };

  console::ClusterNode nodeOf(const ClusterState& state, const std::string& name) const;
  // `sizes`: of all nodes.
  console::ClusterPodView podOf(const ClusterState& state, const ClusterPod& one,
                                const NodeSizes& sizes) const;
  void addWaiting(const ClusterState& state, const ClusterPod& one, const NodeSizes& sizes,
                  console::ClusterPodView* view) const;
  std::string queueReason(const console::ClusterPodView& pod) const;

  std::string team_label_, agent_namespace_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Namespace> namespaces_;
  std::map<std::string, kube::Queue> queues_;
  std::map<std::string, AgentPod> agents_;  // by UID
};

}  // namespace divvy::cli
