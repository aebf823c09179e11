// Serves the node's resources to the kubelet: offers device IDs, waits until the kubelet counts
// them, and answers its requests. Private.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_node.h"
#include "device/inventory.h"
#include "deviceplugin/capacity_publisher.h"
#include "deviceplugin/container_injector.h"
#include "deviceplugin/container_starter.h"
#include "deviceplugin/preferred_allocation.h"
#include "deviceplugin/resource_names.h"
#include "kube/pod.h"
#include "kubelet/device_plugin.h"
#include "node_object/node_publisher.h"
#include "os/asio.h"
#include "os/shutdown_state.h"
#include "pods/kubelet_allocations.h"

namespace divvy::agent {

// On the loop's thread, but for stop(). The kubelet's requests arrive on gRPC's threads. They are
// answered there at once, or posted to the loop.
class ResourceRegistration {
 public:
  // Its references outlive this object and the loop's last run.
  struct Inputs {
    asio::io_context& loop;
    const ClusterNode& cluster;
    const std::vector<ExtendedResource>& resources;
    const Inventory& inventory;
    const CapacityPublisher& capacity;
    NodePublisher& node;
    ContainerStarter& starter;
    ContainerInjector& injector;
    PreferredAllocation& preferred;
    KubeletAllocations& kubelet;
    ShutdownState& shutdown;
  };
  explicit ResourceRegistration(const Inputs& inputs)
      : inputs_(inputs), count_pause_(inputs.loop) {}

  // Starts a plugin for each resource. Call once. The kubelet may still be missing. Errors: those
  // of kubelet::DevicePlugin::begin().
  Result<void> serve();
  // Whether a plugin was started.
  bool serving() const { return !plugins_.empty(); }
  // Passes the device IDs of each resource to its plugin.
  void offer();
  // Why the kubelet cannot allocate our resources yet; empty: it can.
  std::string unready() const;
  // Resources that the kubelet has counted once, or that offer no ID it could count.
  const std::set<std::string>& counted() const { return counted_; }
  // Stops the plugins and waits for their threads. On any thread, while the loop runs.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> serveResource(const ExtendedResource& resource);
  kubelet::PluginHandlers handlersFor(const std::string& resource);
  std::vector<kubelet::Device> unitsOf(const ExtendedResource& resource) const;
  // The plugin of this resource has sent its device IDs to the kubelet.
  void sent(const std::string& resource);
  // Polls until the kubelet counts the device IDs of all resources in sent_. It does so some
  // milliseconds after it received them, and rejects for good a pod that comes earlier.
  void awaitCount(std::chrono::milliseconds wait);
  void onDevicesCounted(const KubeletAllocations::Counted& now);
  bool offersNothing(const std::string& resource) const;
  // Answers which device IDs the kubelet should allocate: at once, or when the pod that they are
  // for is known. On a thread of gRPC's.
  void prefer(const std::string& resource, kubelet::PreferredAllocationQuery ask,
              const kubelet::ReplyCallback<std::vector<std::string>>& answer);
  asio::awaitable<void> preferLater(std::string resource, kubelet::PreferredAllocationQuery ask,
                                    kubelet::ReplyCallback<std::vector<std::string>> answer);

  const Inputs inputs_;
  // Resources that were sent and are not counted yet, with the time at which waiting ends.
  std::map<std::string, Clock::time_point> sent_;
  std::set<std::string> counted_;
  asio::steady_timer count_pause_;
  // In the order of the resources. The last member: its threads use the others.
  std::vector<std::unique_ptr<kubelet::DevicePlugin>> plugins_;
};

}  // namespace divvy::agent
