// The scheduler's service: what kube-scheduler and the API server ask us.
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

// The webhook's, where Divvy makes it itself and makes it anew in time.
struct OwnCertificate {
  std::string space, name;         // of the Secret that replicas share it by
  std::string registration;        // MutatingWebhookConfiguration whose webhooks are all ours
  std::vector<std::string> names;  // what it is for: hosts and addresses
  std::chrono::seconds life{std::chrono::hours(24 * 90)};
};

// Where something is written that only HAMi's agents, or vendors', need: nowhere, where such an
// agent is, everywhere.
enum class WhereAgents : std::uint8_t { kNever, kAuto, kAlways };

struct SchedulerOptions {
  kube::Access access;
  std::string name = "divvy-scheduler";      // pods that ask for devices are given to
  std::vector<vendors::Descriptor> devices;  // how they are called; empty: as built in
  std::vector<std::string> vendors;          // whose of these are placed; empty: all
  std::string model_resources;  // a file of further ones (scheduler/resource_catalog.h)
  PriorityRules priorities;
  engine::Config placing;           // where a pod does not say
  std::vector<engine::Pool> pools;  // users are namespaces
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // of /filter and /bind; 0: any
  std::string webhook_host = "127.0.0.1";
  std::uint16_t webhook_port = 0;  // with TLS; 0: any
  // Of the webhook; neither files nor an own one: there is none. Files are read again when changed.
  std::string certificate_file, key_file;
  std::optional<OwnCertificate> own_certificate;
  std::string metrics_host = "127.0.0.1";
  std::uint16_t metrics_port = 0;               // without TLS; 0: any
  bool hami_metrics = false;                    // also under HAMi's names
  WhereAgents hami_label = WhereAgents::kAuto;  // the label that HAMi's monitor selects pods by
  WhereAgents locks = WhereAgents::kAuto;       // node locks that agents find their pod by
  bool handshakes = true;                       // agents that report are asked again
  std::string ports_file;  // where it writes which ports it has; empty: nowhere
  // /filter tells all nodes that would do, and reserves nothing; /prioritize says how good each is,
  // and kube-scheduler chooses, by its other plugins too. /bind decides the devices there.
  bool all_feasible = false;
  // The Lease of the kube-scheduler beside us: we lead while it is held by IDENTITY_anything. No
  // name: there is none, and this is the only replica.
  std::string lease_space, lease_name;
  std::string identity;
  // How long a pod that does not say it runs before it may have to end for one of higher priority.
  std::chrono::seconds min_runtime{0};
  // Different shares that the containers of one pod may ask for; 0: any number.
  std::size_t most_different_shares = 8;
  // Of pods whose devices nobody uses: from the notice to their eviction, and how much longer their
  // platform may have it at most, which is told of them (kube/access.h's urlAccess). None: nobody.
  std::chrono::seconds idle_notice{300};
  std::chrono::seconds idle_extension{3600};
  std::optional<kube::Access> platform;
  // Of pods that go around what limits them: from the notice to their eviction, where their node is
  // to evict them (the agent's --on-bypass).
  std::chrono::seconds bypass_notice{60};
  // How long a node's inventory (kube/inventory.h) grows by what the node registers, from the first
  // time on; 0: none is written. Those that are written count all the same.
  std::chrono::seconds inventory_learning{3600};
  // Longer than kube-scheduler takes to bind at most.
  std::chrono::seconds reservation{120};
};

// Until SIGTERM or SIGINT. Says what it does on stderr.
Result<void> serve(const SchedulerOptions& options);

}  // namespace divvy::scheduler
