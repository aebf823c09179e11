// The cluster that a console shows. The console owns no connection: its starter implements this.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/result.h"
#include "console/cluster_change.h"
#include "kube/queue.h"
#include "scheduler/device_usage.h"

namespace divvy::console {

// A collection of the API server, such as "pods".
struct ClusterCollection {
  std::string name;
  bool reached = false;    // it has been read once
  std::string failure;     // why it is not up to date; empty: it is
  std::size_t unread = 0;  // objects that cannot be read; they are left out
  std::string example;     // one of them, and why
};

enum class ClusterNodeState : std::uint8_t { kReady, kNotReady, kCordoned, kUnreadable };

struct ClusterNode {
  std::string name;
  ClusterNodeState state = ClusterNodeState::kReady;
  std::string reason;  // for a state other than ready
};

enum class ClusterPodState : std::uint8_t { kWaiting, kPending, kRunning, kEnding, kUnknown };

// The reason class of a pod that waits.
enum class WaitingKind : std::uint8_t {
  kRoom,         // no node has the devices free
  kQuota,        // its queue or a ResourceQuota allows no more
  kNeverFits,    // its request is invalid
  kHeld,         // a scheduling gate of another controller
  kUnscheduled,  // kube-scheduler's reason, or none yet
};

// A pod that holds or requests devices.
struct ClusterPodView {
  std::string namespace_name, name, node;
  std::string owner;                            // "Deployment/web"; empty: none
  std::string queue;                            // empty: none
  std::string team;                             // never empty
  std::string served_model, model_source;       // empty: not stated
  std::vector<std::string> containers, images;  // of equal length; init containers first
  std::int64_t priority = 0;
  std::int64_t created_ms = 0;  // since 1970; 0: not known
  ClusterPodState state = ClusterPodState::kWaiting;
  // The next members are of a pod that waits.
  WaitingKind waiting = WaitingKind::kUnscheduled;
  std::string reason;
  bool reason_of_queue = false;  // its queue states it, for all of its pods
  std::string memory;            // of its largest share: "16GiB"; empty: not known
  unsigned devices = 0;          // number of devices that it requests; 0: not known
  // In its queue, from 1. The console counts it; sources leave it 0.
  unsigned position = 0;
  friend bool operator==(const ClusterPodView&, const ClusterPodView&) = default;
};

// A set of devices that only some namespaces may use.
struct ClusterPool {
  std::string name;
  std::vector<std::string> namespaces;  // empty: all
};

// An Event of the API server.
struct ClusterEvent {
  std::string uid;
  std::string namespace_name;  // of the Event
  std::string pod;             // or node, or queue, that it is about
  std::string reason, text, actor;
  std::int64_t time_ms = 0;
};

// Use as agents report it. An absent figure is not known.
struct DeviceUse {
  std::optional<std::uint64_t> memory_used;  // by all processes
  std::optional<double> utilisation_percent;
  std::optional<std::uint64_t> memory_swapped{};  // by pods
  std::string turn{};  // NAMESPACE/POD/CONTAINER that others wait for; empty: none, or not known
  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
};
struct ShareUse {
  std::optional<std::uint64_t> memory_used, memory_resident, memory_swapped;
  std::optional<double> usage_permille;  // of the device: as charged, else as the driver measured
  // The next figures are of the share on all of its devices.
  std::optional<std::uint64_t> idle_ms;
  // Why it is slow, one sentence each, and the same without names of other tenants.
  std::optional<std::vector<std::string>> slow{};
  std::vector<std::string> slow_unnamed{};
  friend bool operator==(const ShareUse&, const ShareUse&) = default;
};
struct ShareUseKey {
  std::string namespace_name, pod, container;
  std::string device;  // UUID; empty: of all devices
  friend auto operator<=>(const ShareUseKey&, const ShareUseKey&) = default;
};

// The agents that are asked for use.
struct ClusterAgents {
  std::size_t known = 0, answering = 0;
  std::string failure;      // of one that does not answer; empty: all do
  std::size_t unasked = 0;  // not asked yet: sums of use would have a part only
};

// The cluster at one instant.
struct ClusterReading {
  std::vector<ClusterCollection> collections;
  std::vector<ClusterNode> nodes;  // nodes with devices, ascending
  std::vector<scheduler::DeviceUsage> devices;
  std::vector<scheduler::AllocatedShare> shares;
  std::vector<ClusterPodView> pods;
  std::vector<kube::Queue> queues;
  std::vector<ClusterPool> pools;
  std::vector<ClusterEvent> events;  // newest last
  ClusterAgents agents;
  std::map<std::string, DeviceUse> device_use;  // by NODE/UUID
  std::map<ShareUseKey, ShareUse> share_use;

  // Returns whether nodes and pods have been read: before that, nothing is known.
  bool known() const;
};

// Blocking access to a cluster. read() is called by one thread; the other functions may be called
// by several others at the same time. Each call returns within 30 s.
class ClusterSource {
 public:
  virtual ~ClusterSource() = default;

  virtual ClusterReading read() = 0;

  // Returns the explanation of a pod, as an element of `divvy explain pod -o json`. No effect.
  virtual Result<boost::json::object> explain(const std::string& namespace_name,
                                              const std::string& pod) = 0;
  // Returns the plan for the pods of a manifest, as `divvy plan -o json`. No effect.
  // `namespace_name`: of all pods; empty: their own, or else the connection's. `token`: everything
  // is read with the rights of this bearer token; empty: with the connection's. kUsage: the
  // manifest cannot be read.
  virtual Result<boost::json::array> plan(const std::string& manifest,
                                          const std::string& namespace_name,
                                          const std::string& token) = 0;
  // Makes a change, or with `dry_run` has the API server check it. Refusals of the API server and
  // the scheduler are outcomes. kUsage: the change is not possible of this object. kNotFound: the
  // object is gone; nothing was changed. kUnavailable: the API server does not answer; the message
  // says whether the change may have been made.
  virtual Result<ClusterChangeOutcome> change(const ClusterChange& change) = 0;
};

}  // namespace divvy::console
