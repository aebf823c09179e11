// Prepares the start of pods' containers: finds the pod of the kubelet's device IDs, and creates
// the container's tenant. Private.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "agent/cluster_node.h"
#include "device/inventory.h"
#include "deviceplugin/container_injector.h"
#include "deviceplugin/pod_tracker.h"
#include "deviceplugin/preferred_allocation.h"
#include "kube/pod.h"
#include "kube/registration.h"
#include "kubelet/device_plugin.h"
#include "node_object/node_api_client.h"
#include "os/asio.h"
#include "os/shutdown_state.h"
#include "pods/container_resolver.h"
#include "pods/kubelet_allocations.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// Device IDs that the kubelet allocated to a container.
struct DeviceIds {
  std::string resource;
  std::vector<std::string> ids;
};

// Only on the loop's thread.
class ContainerStarter {
 public:
  // Its references outlive the loop's last run.
  struct Inputs {
    asio::io_context& loop;
    const ClusterNode& cluster;
    const std::set<std::string>& resources;              // of the device plugin
    const std::vector<kube::RegisteredDevice>& devices;  // as published on the node
    const Inventory& inventory;
    TenantManager& tenants;
    PodTracker& pods;
    NodeApiClient& api;
    KubeletAllocations& kubelet;
    ContainerInjector& injector;
    PreferredAllocation& preferred;
    ShutdownState& shutdown;
  };
  explicit ContainerStarter(const Inputs& inputs) : inputs_(inputs) {}

  // A container with these device IDs is about to start. Finds its pod, and creates its tenant or
  // finds the existing one. Until `answer` is called the request is open. Answers after 15 s at
  // most, and the time that kubelet and API server need; errors are logged. kUsage: no IDs.
  // kUnavailable: the owner of the IDs is not known, or their devices have no room yet. Other
  // errors: those of podShare(), understand(), ourMountsStay() and ContainerInjector::prepare().
  void start(DeviceIds units, kubelet::ReplyCallback<void> answer);
  // Records which of the pod's containers the kubelet will request device IDs for. Call when the
  // pod was added or changed, before podChanged().
  void expect(const kube::Pod& pod);
  // Updates the labels of the pod's tenants, and records which of its containers have started
  // according to its status.
  void podChanged(const kube::Pod& pod, const boost::json::value& object);
  void podEnded(const std::string& uid);

 private:
  using List = KubeletAllocations::List;
  // The pod and container that hold the device IDs. Pod resources name running containers; the
  // checkpoint names init containers, too.
  struct Owner {
    std::string namespace_name, pod;
    std::string container;  // from pod resources; empty: none holds exactly these IDs
    std::vector<kubelet::CheckpointEntry> entries;  // with these IDs, of any pod
    std::optional<Error> unread;                    // why the checkpoint could not be read

    // Whether the checkpoint gives the IDs to this pod: a pod of the same name may have replaced
    // it.
    bool isPod(const std::string& uid) const;
    // Names of the pod's containers that hold the IDs.
    std::vector<std::string> containersOf(const std::string& uid) const;
  };
  // The container that last started with some device IDs, and its pod's status at that time.
  struct Started {
    std::string uid;
    LastStartedContainer last;
  };

  asio::awaitable<void> answerStart(List held, DeviceIds units,
                                    kubelet::ReplyCallback<void> answer);
  asio::awaitable<Result<void>> startContainer(List held, DeviceIds units);
  asio::awaitable<Result<Owner>> ownerOf(List held, DeviceIds units);
  // Resolves the container by the pod's status, and creates its tenant. Returns false if the
  // status, or the room on its devices, may still come. `settled`: it will not.
  Result<bool> tryStart(const boost::json::value& object, const Owner& owner,
                        const DeviceIds& units, bool settled);
  std::optional<LastStartedContainer> lastStarted(const std::string& tenant,
                                                  const std::string& uid) const;
  // Creates the container's tenant, or finds the existing one. Returns false if there is no room
  // yet and this is not the `last` attempt.
  Result<bool> createTenant(const boost::json::value& object, const kube::Pod& pod,
                            const kubelet::PodDevices& held, bool last);
  Result<bool> prepare(Tenant& tenant);
  // Which allocations still take the room that `decision` needs, as those of ended pods with living
  // processes; empty: there is room. Ended tenants of the pod `uid` itself do not count. `id`: of
  // the new tenant.
  std::string shortfall(const Decision& decision, const std::string& uid,
                        const std::string& id) const;

  const Inputs inputs_;
  std::map<std::string, Started> started_;  // by tenant's ID, also of tenants that have ended
};

}  // namespace divvy::agent
