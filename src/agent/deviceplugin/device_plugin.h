// This machine as a node of Kubernetes: publishes its devices to the scheduler, and injects shares
// into the kubelet's containers.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_node.h"
#include "agent/install_layout.h"
#include "device/inventory.h"
#include "deviceplugin/container_injector.h"
#include "deviceplugin/full_device_debouncer.h"
#include "deviceplugin/preferred_allocation.h"
#include "deviceplugin/resource_names.h"
#include "enforcement/limit_bypass_monitor.h"
#include "kube/client.h"
#include "kube/eviction_request.h"
#include "kube/informer.h"
#include "kube/node.h"
#include "kube/registration.h"
#include "kubelet/checkpoint.h"
#include "kubelet/device_plugin.h"
#include "kubelet/kubelet_dirs.h"
#include "kubelet/pod_resources.h"
#include "os/asio.h"
#include "pods/container_resolver.h"
#include "pods/idle_report.h"
#include "pods/pod_resize.h"
#include "tenant/tenant_manager.h"
#include "tenant_registration/container_registration.h"

namespace divvy::agent {

// Access to the node's files and sockets.
struct PrivilegedAccess {
  std::shared_ptr<kubelet::KubeletDirs> sockets;
  std::shared_ptr<helper::Client> link;  // to the helper; null: this process has the privileges
};

// Runs on the loop's one thread. The kubelet's requests arrive on gRPC's threads: they are answered
// there at once, or posted to the loop.
class DevicePluginController {
 public:
  DevicePluginController(asio::io_context& loop, ClusterNode cluster, const Node& node,
                         NodePaths paths, const InstallLayout& install, TenantManager& tenants,
                         ContainerRegistration& door, const Inventory& inventory,
                         const LimitBypassMonitor& bypass, PrivilegedAccess access);

  // Starts serving. Call once, when earlier tenants are known. Kubelet and API server may still be
  // missing.
  Result<void> begin();
  // Publishes to kubelet and scheduler that the devices available for new allocations have changed.
  void healthChanged();
  // Call once a second. Publishes on the node which pods are idle and which bypass their limits.
  // Withdraws cards that unmanaged processes use. Every few seconds looks for cards that another
  // plugin's pods hold.
  void tick();
  // Why the kubelet cannot allocate our resources yet; empty: it can.
  std::string unready() const;
  // Call after begin(), with the loop stopped. Publishes the node's devices as unavailable, for at
  // most 2 s. Then runs the loop until no request is open.
  // The kubelet rejects for good a pod that arrives at a node without its agent; a pod that is not
  // placed waits.
  void end();

 private:
  // Device IDs that the kubelet allocated, or is about to allocate.
  struct DeviceIds {
    std::string resource;
    std::vector<std::string> ids;
  };

  Result<void> serve();
  // Passes the healthy device IDs of each resource to its plugin.
  void offer();
  // Withdraws devices that became full; offers again those with room.
  void noteFull();
  using Given = std::map<std::string, std::pair<Bytes, unsigned>>;
  Given given() const;
  std::set<std::string> fullNow() const;
  void noteWithheld();
  // Device IDs of living pods, as (resource, ID). Nothing: the kubelet's checkpoint cannot be read.
  using Taken = std::set<std::pair<std::string, std::string>>;
  std::optional<Taken> takenUnits();
  // The entries of the kubelet's checkpoint. A failure to read it is logged once, and so is its
  // end.
  Result<std::vector<kubelet::CheckpointEntry>> noted();
  Result<void> serveName(const ExtendedResource& name);
  // The plugin of this resource has sent its device IDs to the kubelet.
  void nowTold(const std::string& resource);
  // Polls until the kubelet counts the device IDs of all resources in told_. Before that, it would
  // reject a pod for good.
  void awaitCount(std::chrono::milliseconds wait);
  void noteCounted(const kubelet::PodResources::Counted& now);
  bool offersNothing(const std::string& resource) const;
  // Whether the node may publish its devices: holders are known, and the kubelet counts a resource.
  bool mayCome() const { return holders_known_ && (names_.empty() || !known_.empty()); }
  std::vector<kubelet::Device> unitsOf(const ExtendedResource& name) const;
  // Recomputes the devices that the node publishes.
  void describeDevices();
  // Recomputes the registration with the pods that are here: some schedulers read them from the
  // node.
  void noteLodgers();
  std::string linkScores() const;
  std::string nicPlaces() const;
  void followNode();
  void followPods();
  void heard(const boost::json::value& node);
  void noteAnnounced(const kube::Node& node);
  std::set<std::string> announcedNames() const;
  std::set<std::string> served() const;
  void heardPod(const boost::json::value& object);
  // Starts to write the annotations and the status that the node lacks.
  void tell();
  std::map<std::string, std::string> wanted() const;  // annotations; an empty value: to be removed
  asio::awaitable<void> enroll();
  asio::awaitable<bool> annotate(std::map<std::string, std::string> wanted);
  asio::awaitable<void> announce();
  void publishUnavailable();
  asio::awaitable<void> closeNode(std::shared_ptr<bool> done);
  bool announces() const;  // the node's status is as wanted
  // Answers which device IDs the kubelet should allocate: at once, or when the pod that they are
  // for is known.
  void prefer(const std::string& resource, kubelet::PreferredAllocationQuery ask,
              const kubelet::Answer<std::vector<std::string>>& answer);
  asio::awaitable<void> preferLater(std::string resource, kubelet::PreferredAllocationQuery ask,
                                    kubelet::Answer<std::vector<std::string>> answer);
  // A container with these device IDs is about to start: finds its pod and makes its tenant.
  void start(DeviceIds units, kubelet::Answer<void> answer);
  using Held = Result<std::vector<kubelet::PodDevices>>;
  asio::awaitable<void> prepare(Held held, DeviceIds units, kubelet::Answer<void> answer);
  // The pod and container that hold the device IDs. Pod resources name the running containers; the
  // checkpoint names init containers too.
  struct Owner {
    std::string space, pod;
    std::string container;  // from pod resources; empty: none holds exactly these IDs
    std::vector<kubelet::CheckpointEntry> noted;  // entries with these IDs, of any pod
    std::optional<Error> unread;                  // why the checkpoint could not be read
  };
  asio::awaitable<Result<Owner>> ownerOf(Held held, DeviceIds units);
  asio::awaitable<Result<void>> startOne(Held held, DeviceIds units);
  // Whether the checkpoint gives the IDs to this pod: a pod of the same name may have replaced it.
  static bool isNoted(const Owner& owner, const std::string& uid);
  static std::vector<std::string> sharingOf(const Owner& owner, const std::string& uid);
  std::optional<LastStartedContainer> lastTurn(const std::string& tenant,
                                               const std::string& uid) const;
  // Creates the container's tenant, or finds the existing tenant. Returns false if there is no room
  // yet and this is not the `last` attempt.
  Result<bool> lodge(const boost::json::value& object, const kube::Pod& pod,
                     const kubelet::PodDevices& held, bool last);
  Result<bool> prepared(Tenant& tenant);
  // Which allocations still take the room that `decision` needs, as those of ended pods with living
  // processes; empty: there is room. Ended tenants of the pod `uid` itself do not count.
  std::string crampedNow(const Decision& decision, const std::string& uid,
                         const std::string& id) const;
  // Updates labels of the pod's tenants, and records which containers have started according to its
  // status.
  void note(const kube::Pod& pod, const boost::json::value& object);
  std::set<std::string> cardsOf(const std::string& uid) const;
  void endThoseBefore(const kube::Pod& pod, const std::string& container, const std::string& but);
  void leave(const std::string& uid);
  void noteDeadlines(const kube::Pod& pod);
  void noteIdle();
  void noteBypass();
  // The eviction requests on the node: `now`, or else those of an earlier agent.
  kube::Complaints saidBefore(const std::optional<kube::Complaints>& now, const char* key) const;
  void lookForHolders();
  void endPod(const std::string& uid);
  // Ends the tenant if its pod is over. A watch that began after the pod's end does not show it.
  asio::awaitable<void> verify(std::string tenant);
  asio::awaitable<Result<boost::json::value>> pod(std::string space, std::string name);

  asio::io_context& loop_;
  const ClusterNode cluster_;
  const Node node_;
  const NodePaths paths_;
  const InstallLayout install_;
  TenantManager& tenants_;
  const Inventory& inventory_;
  const std::vector<ExtendedResource> names_;
  const std::set<std::string> resources_;  // of names_
  // Resources that the kubelet was sent, and does not count yet; with the time at which waiting
  // ends.
  std::map<std::string, std::chrono::steady_clock::time_point> told_;
  asio::steady_timer count_pause_;
  std::set<std::string> known_;                      // resources that the kubelet has counted once
  std::vector<kube::RegisteredDevice> devices_;      // as published to schedulers
  std::map<std::string, std::string> registration_;  // annotations that publish devices_
  std::set<std::string> left_;                       // annotations to be removed
  std::string scores_, nics_;                        // values of the node's annotations
  std::map<std::string, std::uint64_t> announced_;   // wanted capacity, by resource
  std::map<std::string, std::uint64_t> announced_now_;  // the node's capacity now
  std::set<std::string> withdrawn_;                     // resources to be removed from the capacity
  ContainerRegistration& door_;
  std::unique_ptr<kube::Client> client_;
  kube::Informer node_rein_, pods_rein_;
  struct Names {
    std::string space, pod;
    bool given = false;                // has an assignment
    std::set<std::string> cards = {};  // UUIDs in the assignment
  };
  std::map<std::string, Names> living_;  // this node's pods that have not ended, by UID
  // By tenant's ID, also of tenants that have ended: the container that last started with these
  // device IDs, and its pod's status at that time.
  struct Turn {
    std::string uid;
    LastStartedContainer last;
  };
  std::map<std::string, Turn> turns_;
  PodResizer changes_;
  ContainerInjector injector_;
  const LimitBypassMonitor& bypass_watch_;
  Deadlines idle_deadlines_, bypass_deadlines_;
  // Nothing: not computed since the node is known.
  std::optional<kube::Complaints> idle_, bypass_;
  PreferredAllocation units_;
  FullDeviceDebouncer full_;
  std::map<std::string, std::set<std::string>> withheld_;  // device IDs, by resource
  std::map<std::string, std::string>
      said_;  // the node's annotations, with the keys of wanted(); empty: unknown
  unsigned ticks_ = 0;
  bool pods_known_ = false;
  // Until then the registration stays as an earlier agent wrote it: pods of others may hold cards.
  bool holders_known_ = false;
  bool looking_ = false;  // a request for holders is open
  bool enrolling_ = false;
  bool turns_told_ = false;  // a warning about node locks was logged
  bool announcing_ = false;
  bool stopped_ = false;
  Taken taken_;                // filled while a device is full or unavailable
  std::string held_trouble_;   // why the last list of pod resources failed; empty: it did not
  std::string noted_trouble_;  // the checkpoint's last fault; empty: none
  unsigned asked_ = 0;         // open requests from and to the kubelet; loop's thread only
  const std::shared_ptr<kubelet::KubeletDirs> sockets_;
  kubelet::PodResources pod_resources_;
  std::vector<std::unique_ptr<kubelet::DevicePlugin>>
      plugins_;  // in the order of names_, after begin()
};

}  // namespace divvy::agent
