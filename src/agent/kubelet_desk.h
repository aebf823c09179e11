// This machine as a node of Kubernetes: tells the scheduler which devices it has, and the kubelet's
// containers what they get of them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/cluster_node.h"
#include "agent/install.h"
#include "asio.h"
#include "inventory.h"
#include "kube/client.h"
#include "kube/follow.h"
#include "kubelet/device_plugin.h"
#include "kubelet/pod_resources.h"
#include "registrar.h"
#include "tenants.h"

namespace divvy::agent {

// Everything on the loop's one thread, but for what the kubelet asks on threads of gRPC's: that is
// answered at once or handed to the loop.
class KubeletDesk {
 public:
  KubeletDesk(asio::io_context& loop, ClusterNode cluster, const Node& node, NodePaths paths,
              const Install& install, Tenants& tenants, const Inventory& inventory);

  // Once, when earlier tenants are known. Neither kubelet nor API server need be there yet.
  Result<void> begin();
  // Once begun, and with the loop stopped: runs it until nobody is asked any more.
  void end();

 private:
  Result<void> layOut();
  Result<void> serve();
  void followNode();
  void followPods();
  void heard(const boost::json::value& node);
  asio::awaitable<void> enroll();
  // A container with these devices is about to be made: whose is it, and what was it given?
  void start(std::vector<std::string> ids, kubelet::Answer<void> answer);
  void settle(const Result<std::vector<kubelet::HeldDevices>>& held,
              const std::vector<std::string>& ids, kubelet::Answer<void> answer);
  asio::awaitable<void> prepare(kubelet::HeldDevices held, kubelet::Answer<void> answer);
  // Makes its tenant, or finds it as it is.
  Result<void> lodge(const boost::json::value& pod, const kubelet::HeldDevices& held);
  void endPod(const std::string& uid);
  // Ends a tenant whose pod is over; of such pods no watch tells that began later.
  asio::awaitable<void> verify(std::string tenant);
  asio::awaitable<Result<boost::json::value>> pod(std::string space, std::string name);

  asio::io_context& loop_;
  const ClusterNode cluster_;
  const Node node_;
  const NodePaths paths_;
  const Install install_;
  Tenants& tenants_;
  const Inventory& inventory_;
  const std::string registration_;
  Registrar registrar_;
  std::unique_ptr<kube::Client> client_;
  kube::Rein node_rein_, pods_rein_;
  std::set<std::string> living_;  // UIDs of this node's pods that are not over
  bool enrolling_ = false;
  bool stopped_ = false;
  unsigned asked_ = 0;  // questions of the kubelet's that are not answered; of the loop's thread
  kubelet::PodResources resources_;
  std::unique_ptr<kubelet::DevicePlugin> plugin_;
};

}  // namespace divvy::agent
