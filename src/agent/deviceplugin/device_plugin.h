// This machine as a node of Kubernetes: publishes its devices to the scheduler, and injects shares
// into the kubelet's containers.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_node.h"
#include "agent/install_layout.h"
#include "agent/node.h"
#include "device/inventory.h"
#include "deviceplugin/capacity_publisher.h"
#include "deviceplugin/container_injector.h"
#include "deviceplugin/container_starter.h"
#include "deviceplugin/eviction_reporter.h"
#include "deviceplugin/foreign_allocation_monitor.h"
#include "deviceplugin/pod_tracker.h"
#include "deviceplugin/preferred_allocation.h"
#include "deviceplugin/resource_names.h"
#include "deviceplugin/resource_registration.h"
#include "enforcement/limit_bypass_monitor.h"
#include "kubelet/kubelet_dirs.h"
#include "node_object/node_api_client.h"
#include "node_object/node_publisher.h"
#include "os/asio.h"
#include "os/shutdown_state.h"
#include "pods/kubelet_allocations.h"
#include "pods/pod_resize.h"
#include "tenant/tenant_manager.h"
#include "tenant_registration/container_registration.h"

namespace divvy::agent {

// Access to the node's files and sockets.
struct PrivilegedAccess {
  std::shared_ptr<kubelet::KubeletDirs> sockets;
  std::shared_ptr<helper::Client> link;  // to the helper; null: this process has the privileges
};

// Its references outlive the loop's last run.
struct DevicePluginInputs {
  asio::io_context& loop;
  ClusterNode cluster;
  Node node;
  NodePaths paths;
  InstallLayout install;
  TenantManager& tenants;
  ContainerRegistration& container_registration;
  const Inventory& inventory;
  const LimitBypassMonitor& bypass;
  PrivilegedAccess access;
};

// Builds the parts of the device plugin and passes events between them. The parts own all state.
// Runs on the loop's one thread.
class DevicePluginController {
 public:
  explicit DevicePluginController(DevicePluginInputs inputs);
  DevicePluginController(const DevicePluginController&) = delete;
  DevicePluginController& operator=(const DevicePluginController&) = delete;

  // Starts serving. Call once, when earlier tenants are known. Kubelet and API server may still be
  // missing.
  Result<void> begin();
  // Publishes to kubelet and scheduler that the devices available for new allocations have changed.
  void healthChanged();
  // Call once a second. Publishes on the node which pods are idle and which bypass their limits.
  // Withdraws devices that unmanaged processes use. Every few seconds looks for devices that
  // another plugin's pods hold.
  void tick();
  // Why the kubelet cannot allocate our resources yet; empty: it can.
  std::string unready() const { return registration_.unready(); }
  // Call after begin(), with the loop stopped. Publishes the node's devices as unavailable, for at
  // most 2 s. Then runs the loop until no request is open.
  // The kubelet rejects for good a pod that arrives at a node without its agent; a pod that is not
  // placed waits.
  void end();

 private:
  // Does not change.
  struct Setup {
    explicit Setup(DevicePluginInputs inputs);
    DevicePluginInputs inputs;
    std::vector<ExtendedResource> resources;
    std::set<std::string> resource_names;
  };
  // The API server and the kubelet. Threads of `kubelet` use the loop only.
  struct Connections {
    explicit Connections(const Setup& setup);
    ShutdownState shutdown;
    NodeApiClient api;
    KubeletAllocations kubelet;
  };

  NodePublisher::Inputs publisherInputs();
  PodTracker::Inputs trackerInputs();
  ContainerStarter::Inputs starterInputs();
  ResourceRegistration::Inputs registrationInputs();
  PublishedState publishedState() const;
  void podChanged(const kube::Pod& pod, const boost::json::value& object);
  void podEnded(const std::string& uid);
  // Withdraws devices that became full; offers again those with room.
  void updateFull();

  const Setup setup_;
  Connections connections_;
  ContainerInjector injector_;
  PreferredAllocation preferred_;
  NodePublisher publisher_;
  PodTracker pods_;
  PodResizer resizer_;
  CapacityPublisher capacity_;
  EvictionReporter evictions_;
  ContainerStarter starter_;
  ForeignAllocationMonitor foreign_;
  ResourceRegistration registration_;  // the last member: its threads use others
};

}  // namespace divvy::agent
