// This node's pods that have not ended. Private.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "agent/cluster_node.h"
#include "kube/informer.h"
#include "kube/pod.h"
#include "kube/registration.h"
#include "node_object/node_api_client.h"
#include "os/asio.h"
#include "os/shutdown_state.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

struct TrackedPod {
  std::string uid;
  std::string namespace_name, name;
  bool assigned = false;               // has an assignment in the node's dialect
  std::set<std::string> devices = {};  // UUIDs in the assignment
};

// Only on the loop's thread.
class PodTracker {
 public:
  // Its references outlive the loop's last run.
  struct Inputs {
    asio::io_context& loop;
    const ClusterNode& cluster;
    const std::vector<kube::RegisteredDevice>& devices;  // as published on the node
    TenantManager& tenants;
    NodeApiClient& api;
    const ShutdownState& shutdown;
    // A pod that has not ended was added or changed. It has its assignment in our dialect, if that
    // can be decoded. `object`: as the API server sent it.
    std::function<void(const kube::Pod& pod, const boost::json::value& object)> changed;
    // A pod has ended or was deleted, and is tracked no more. It may never have been tracked.
    std::function<void(const std::string& uid)> ended;
    // The first list of pods is complete.
    std::function<void()> synced;
  };
  explicit PodTracker(Inputs inputs) : inputs_(std::move(inputs)) {}

  // Begins to follow the pods. Call once.
  void follow();
  // Whether the first list of pods is complete.
  bool synced() const { return synced_; }
  // Null: no such pod. The pointer is valid until the loop handles another event.
  const TrackedPod* find(const std::string& uid) const;
  const TrackedPod* findByName(const std::string& namespace_name, const std::string& name) const;
  // UIDs of pods with an assignment.
  std::set<std::string> assigned() const;
  // Starts to ask the API server, until it answers, whether the tenant's pod still is the one that
  // the tenant belongs to, and ends the pod's tenants if not. A watch that began after the pod's
  // end does not show it.
  void verify(const std::string& tenant);

 private:
  void onPodUpdate(const boost::json::value& object);
  void end(const std::string& uid);
  void listed();
  asio::awaitable<void> verifyTenant(std::string id);

  const Inputs inputs_;
  kube::Informer informer_;
  std::map<std::string, TrackedPod> pods_;  // by UID
  bool synced_ = false;
};

}  // namespace divvy::agent
