// Publishes the node's devices, and the agent's data of its pods, on the Node object. Private.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "agent/cluster_node.h"
#include "device/inventory.h"
#include "kube/informer.h"
#include "kube/registration.h"
#include "node_object/node_annotations.h"
#include "node_object/node_api_client.h"
#include "node_object/node_status_writer.h"
#include "os/asio.h"
#include "os/shutdown_state.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// Only on the loop's thread.
class NodePublisher {
 public:
  // Its references outlive the loop's last run.
  struct Inputs {
    asio::io_context& loop;
    const ClusterNode& cluster;
    const std::set<std::string>& resources;  // of the device plugin
    const Inventory& inventory;
    const TenantManager& tenants;
    NodeApiClient& api;
    const ShutdownState& shutdown;
    // Returns the state of other parts. Called whenever annotations are compared or written.
    std::function<PublishedState()> state;
    // Called for each version of the Node object, with containerRuntimeVersion and kubeletVersion
    // of its status.nodeInfo.
    std::function<void(const std::string& runtime, const std::string& kubelet)> versions;
  };
  explicit NodePublisher(const Inputs& inputs);

  // Recomputes the registration and the capacity from health and memory of the devices. Writes
  // nothing. `assigned`: UIDs of this node's pods with an assignment.
  void describeDevices(const std::set<std::string>& assigned);
  // Recomputes the registration for these pods: some schedulers read them from the node.
  void setAssignedPods(const std::set<std::string>& assigned);
  // Begins to follow the Node object. Call once, after describeDevices().
  void follow();
  // Starts to write the annotations and the status that differ from those of the node. Does nothing
  // until the Node object is known. Failed writes are logged and repeated.
  void publish();

  // Whether the Node object is known.
  bool known() const { return !published_.empty(); }
  // The node's annotation, one of those that it publishes; empty: the node has none.
  std::string published(const std::string& key) const;
  // The registered devices, as of describeDevices(). The reference stays valid.
  const std::vector<kube::RegisteredDevice>& devices() const { return devices_; }

  // Call with the loop stopped, at shutdown. Runs the loop until the node publishes its devices as
  // unavailable, for at most 2 s. Does nothing if it registers none.
  void publishUnavailable();

 private:
  void onNodeUpdate(const boost::json::value& object);
  Annotations wanted() const;
  asio::awaitable<void> annotateUntilUpToDate();
  asio::awaitable<bool> annotate(Annotations wanted);
  asio::awaitable<void> annotateUnavailable(std::shared_ptr<bool> done);

  const Inputs inputs_;
  const std::string scores_, nics_;              // values of annotations
  std::vector<kube::RegisteredDevice> devices_;  // as published to schedulers
  Annotations registration_;                     // publishes devices_
  std::set<std::string> left_;                   // keys to be removed
  Annotations published_;  // the node's annotations, with the keys of wanted(); empty: unknown
  bool annotating_ = false;
  bool node_lock_logged_ = false;
  kube::Informer informer_;
  NodeStatusWriter status_;
};

}  // namespace divvy::agent
