// The scheduler's service, which kube-scheduler and the API server call.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/config.h"
#include "engine/pool.h"
#include "kube/access.h"
#include "scheduler/device_priority.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

// A certificate of the webhook that Divvy issues and renews itself.
struct OwnCertificate {
  std::string namespace_name, name;  // of the Secret by which replicas share it
  std::string registration;          // MutatingWebhookConfiguration; all its webhooks are Divvy's
  std::vector<std::string> names;    // subject names: hosts and addresses
  std::chrono::seconds life{std::chrono::hours(24 * 90)};  // validity of each certificate
};

// Where the scheduler writes data that only HAMi's or vendors' agents need: on no node, on nodes
// with such an agent, on all nodes.
enum class WhereAgents : std::uint8_t { kNever, kAuto, kAlways };

struct SchedulerOptions {
  kube::Access access;
  std::string name = "divvy-scheduler";      // schedulerName of pods that request devices
  std::vector<vendors::Descriptor> devices;  // descriptors; empty: the built-in ones
  std::vector<std::string> vendors;          // vendors of devices to place; empty: all
  std::string model_resources;  // file of further resources (scheduler/resource_catalog.h)
  PriorityRules priorities;
  engine::Config placing;           // defaults for pods without placement annotations
  std::vector<engine::Pool> pools;  // users are namespaces
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // extender (/filter, /prioritize, /preempt, /bind); 0: any
  std::string webhook_host = "127.0.0.1";
  std::uint16_t webhook_port = 0;  // with TLS; 0: any
  // Certificate of the webhook: files, which are read again when changed, or `own_certificate`.
  // Without either there is no webhook.
  std::string certificate_file, key_file;
  std::optional<OwnCertificate> own_certificate;
  std::string metrics_host = "127.0.0.1";
  std::uint16_t metrics_port = 0;               // without TLS; 0: any
  bool hami_metrics = false;                    // metrics under HAMi's names too
  bool deprecated_names = true;                 // also the names of the release before
  WhereAgents hami_label = WhereAgents::kAuto;  // label by which HAMi's monitor selects pods
  WhereAgents locks = WhereAgents::kAuto;       // node locks by which agents find their pod
  bool handshakes = true;                       // ask agents that reported to report again
  std::string ports_file;                       // file for the bound ports; empty: none
  // /filter returns all nodes that fit and reserves nothing. /prioritize scores them, and
  // kube-scheduler chooses one with its other plugins. /bind reserves the devices there.
  bool all_feasible = false;
  // Lease of the kube-scheduler beside Divvy. This replica leads while IDENTITY_anything holds it.
  // No name: there is no Lease, and this is the only replica.
  std::string lease_namespace, lease_name;
  std::string identity;
  // Minimum run time before a pod may be preempted, for pods without the annotation.
  std::chrono::seconds min_runtime{0};
  // Maximum number of different shares that the containers of one pod request; 0: no limit.
  std::size_t most_different_shares = 8;
  // For pods that do not use their devices: time from the notice to the eviction.
  std::chrono::seconds idle_notice{300};
  // Maximum time, in total, that the platform may add to `idle_notice`.
  std::chrono::seconds idle_extension{3600};
  // Platform that is notified of idle pods (urlAccess() in kube/access.h). None: no callback.
  std::optional<kube::Access> platform;
  // For pods with a limit bypass: time from the notice to the eviction, on nodes with an agent that
  // asks for evictions (divvy agent --on-bypass).
  std::chrono::seconds bypass_notice{60};
  // Time from a node's first registration in which its registrations extend its inventory
  // (kube/inventory.h). 0: no inventory is written; existing ones still apply.
  std::chrono::seconds inventory_learning{3600};
  // Time for which a reservation holds: longer than kube-scheduler takes to bind.
  std::chrono::seconds reservation{120};
};

// Runs the scheduler until SIGTERM or SIGINT, and logs on stderr. Blocks the calling thread.
// Errors: an option cannot be used, or an address cannot be opened.
Result<void> serve(const SchedulerOptions& options);

}  // namespace divvy::scheduler
