// This machine as a node of Kubernetes: tells the scheduler which devices it has, and the kubelet's
// containers what they get of them.
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

// How we come to what is the node's.
struct PrivilegedAccess {
  std::shared_ptr<kubelet::KubeletDirs> sockets;
  std::shared_ptr<helper::Client> link;  // to our helper; null: we have the rights ourselves
};

// Everything on the loop's one thread, but for what the kubelet asks on threads of gRPC's: that is
// answered at once or handed to the loop.
class DevicePluginController {
 public:
  DevicePluginController(asio::io_context& loop, ClusterNode cluster, const Node& node,
                         NodePaths paths, const InstallLayout& install, TenantManager& tenants,
                         ContainerRegistration& door, const Inventory& inventory,
                         const LimitBypassMonitor& bypass, PrivilegedAccess access);

  // Once, when earlier tenants are known. Neither kubelet nor API server need be there yet.
  Result<void> begin();
  // Of other cards somebody new may have something now: kubelet and scheduler are told.
  void healthChanged();
  // Once a second: which of its pods do not use their devices, or others than theirs, is told with
  // the node, and cards that somebody unknown uses are not offered; every few seconds, who has
  // cards from another plugin.
  void tick();
  // Why the kubelet can give nobody anything of ours yet; empty: it can.
  std::string unready() const;
  // Once begun, and with the loop stopped: has the node say that nobody new can come, which takes
  // 2 s at most, and runs the loop until nobody is asked any more. The kubelet turns pods away
  // for good that come to a node whose agent is gone; those that are not placed wait.
  void end();

 private:
  // Units that the kubelet gave, or is about to give.
  struct DeviceIds {
    std::string resource;
    std::vector<std::string> ids;
  };

  Result<void> serve();
  // What the kubelet may give, by each name.
  void offer();
  // Nothing more fits some devices, or does again.
  void noteFull();
  using Given = std::map<std::string, std::pair<Bytes, unsigned>>;
  Given given() const;
  std::set<std::string> fullNow() const;
  void noteWithheld();
  // Units that pods have, by resource; nothing: the kubelet's notes cannot be read.
  using Taken = std::set<std::pair<std::string, std::string>>;
  std::optional<Taken> takenUnits();
  // What the kubelet's checkpoint notes; that it cannot be read, and can again, is said once.
  Result<std::vector<kubelet::CheckpointEntry>> noted();
  Result<void> serveName(const ExtendedResource& name);
  // The kubelet was told of this name's units.
  void nowTold(const std::string& resource);
  // Asks until it counts units of all names that it was told of: whoever comes for one then is
  // given what he is to have.
  void awaitCount(std::chrono::milliseconds wait);
  void noteCounted(const kubelet::PodResources::Counted& now);
  bool offersNothing(const std::string& resource) const;
  // What the node is to say of its devices: that somebody may come to them.
  bool mayCome() const { return holders_known_ && (names_.empty() || !known_.empty()); }
  std::vector<kubelet::Device> unitsOf(const ExtendedResource& name) const;
  // Looks anew at what the node is to say of its devices.
  void describeDevices();
  // And at who is here: schedulers may want to hear of that with the node.
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
  // Writes into the node what it does not say yet.
  void tell();
  std::map<std::string, std::string> wanted() const;  // annotations; empty: not to be there
  asio::awaitable<void> enroll();
  asio::awaitable<bool> annotate(std::map<std::string, std::string> wanted);
  asio::awaitable<void> announce();
  void publishUnavailable();
  asio::awaitable<void> closeNode(std::shared_ptr<bool> done);
  bool announces() const;  // the node's status says what it is to say
  // Which units it should be: at once, or as soon as the pod is known that they are for.
  void prefer(const std::string& resource, kubelet::PreferredAllocationQuery ask,
              const kubelet::Answer<std::vector<std::string>>& answer);
  asio::awaitable<void> preferLater(std::string resource, kubelet::PreferredAllocationQuery ask,
                                    kubelet::Answer<std::vector<std::string>> answer);
  // A container with these units is about to be made: whose is it, and what was it given?
  void start(DeviceIds units, kubelet::Answer<void> answer);
  using Held = Result<std::vector<kubelet::PodDevices>>;
  asio::awaitable<void> prepare(Held held, DeviceIds units, kubelet::Answer<void> answer);
  // Of which pod they are, and of which of its containers: by what the kubelet says of all that
  // go on, and by its checkpoint of those that end.
  struct Owner {
    std::string space, pod;
    std::string container;                        // that goes on; empty: none has just these
    std::vector<kubelet::CheckpointEntry> noted;  // of whichever pods
    std::optional<Error> unread;                  // why nothing is noted
  };
  asio::awaitable<Result<Owner>> ownerOf(Held held, DeviceIds units);
  asio::awaitable<Result<void>> startOne(Held held, DeviceIds units);
  // The pod of that name may be another one already.
  static bool isNoted(const Owner& owner, const std::string& uid);
  static std::vector<std::string> sharingOf(const Owner& owner, const std::string& uid);
  std::optional<LastStartedContainer> lastTurn(const std::string& tenant,
                                               const std::string& uid) const;
  // Makes its tenant, or finds it as it is. False: there is no room yet, and it is not the `last`
  // time that it is tried.
  Result<bool> lodge(const boost::json::value& object, const kube::Pod& pod,
                     const kubelet::PodDevices& held, bool last);
  Result<bool> prepared(Tenant& tenant);
  // Who has what is to be given now, of pods that are over, say, and whose processes are not;
  // empty: there is room. Those before it in its pod are left out.
  std::string crampedNow(const Decision& decision, const std::string& uid,
                         const std::string& id) const;
  // Its labels, and which of its containers were made, by its status.
  void note(const kube::Pod& pod, const boost::json::value& object);
  std::set<std::string> cardsOf(const std::string& uid) const;
  void endThoseBefore(const kube::Pod& pod, const std::string& container, const std::string& but);
  void leave(const std::string& uid);
  void noteDeadlines(const kube::Pod& pod);
  void noteIdle();
  void noteBypass();
  // What is said of them on the node, by us or an earlier agent.
  kube::Complaints saidBefore(const std::optional<kube::Complaints>& now, const char* key) const;
  void lookForHolders();
  void endPod(const std::string& uid);
  // Ends a tenant whose pod is over; of such pods no watch tells that began later.
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
  const std::set<std::string> resources_;  // of these names
  // Of these: the kubelet was told of their units, and is asked until then whether it counts them.
  std::map<std::string, std::chrono::steady_clock::time_point> told_;
  asio::steady_timer count_pause_;
  std::set<std::string> known_;                         // of these, by the kubelet, once
  std::vector<kube::RegisteredDevice> devices_;         // as schedulers are told of them
  std::map<std::string, std::string> registration_;     // annotations of the node that say so
  std::set<std::string> left_;                          // annotations that are to go
  std::string scores_, nics_;                           // as the node is to say them
  std::map<std::string, std::uint64_t> announced_;      // as its status is to say it, by resource
  std::map<std::string, std::uint64_t> announced_now_;  // as it does
  std::set<std::string> withdrawn_;                     // what of it is to go
  ContainerRegistration& door_;
  std::unique_ptr<kube::Client> client_;
  kube::Informer node_rein_, pods_rein_;
  struct Names {
    std::string space, pod;
    bool given = false;                // our scheduler says what it was given
    std::set<std::string> cards = {};  // what is said: UUIDs
  };
  std::map<std::string, Names> living_;  // by UID: this node's pods that are not over
  // By tenant, also of one that ended meanwhile: who was made with these units last, and what its
  // pod's status said then.
  struct Turn {
    std::string uid;
    LastStartedContainer last;
  };
  std::map<std::string, Turn> turns_;
  PodResizer changes_;
  ContainerInjector injector_;
  const LimitBypassMonitor& bypass_watch_;
  Deadlines idle_deadlines_, bypass_deadlines_;
  // None: not looked at since the node is known.
  std::optional<kube::Complaints> idle_, bypass_;
  PreferredAllocation units_;
  FullDeviceDebouncer full_;
  std::map<std::string, std::set<std::string>> withheld_;  // by resource: units
  std::map<std::string, std::string> said_;  // as wanted(), by the node; empty: it is not known
  unsigned ticks_ = 0;
  bool pods_known_ = false;
  // Before that nothing is registered anew: cards may be others'.
  bool holders_known_ = false;
  bool looking_ = false;  // for holders
  bool enrolling_ = false;
  bool turns_told_ = false;  // what node locks do
  bool announcing_ = false;
  bool stopped_ = false;
  Taken taken_;                // while not all devices are offered
  std::string held_trouble_;   // why the kubelet did not say who has what, last; empty: it did
  std::string noted_trouble_;  // what was wrong with its checkpoint last; empty: nothing
  unsigned asked_ = 0;  // questions of the kubelet's that are not answered; of the loop's thread
  const std::shared_ptr<kubelet::KubeletDirs> sockets_;
  kubelet::PodResources pod_resources_;
  std::vector<std::unique_ptr<kubelet::DevicePlugin>> plugins_;  // as names_, once begun
};

}  // namespace divvy::agent
