// The parsed command line: one struct per subcommand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/cluster_node.h"
#include "agent/device_exclusion.h"
#include "agent/enforcement.h"
#include "agent/helper_main.h"
#include "agent/idle_policy.h"
#include "agent/limit_bypass_policy.h"
#include "agent/metrics_options.h"
#include "agent/node.h"
#include "agent/oversubscription.h"
#include "agent/placement.h"
#include "agent/share_request.h"
#include "base/duration.h"
#include "base/result.h"
#include "engine/defragmentation.h"
#include "engine/policy.h"
#include "options/container_command.h"
#include "options/kube_connection.h"
#include "scheduler/server.h"
#include "simulator/replay.h"
#include "sizing/request.h"

namespace divvy::cli {

// --sim: absent: the node's real devices; else the profile.
using SimChoice = std::optional<std::string>;

struct Output {
  bool json = false;
  bool wide = false;  // all columns at any width of the terminal
  bool headers = true;
  bool color = true;
};

struct RunOptions {
  agent::ShareRequest ask;
  std::string name;
  agent::Priority priority = agent::Priority::kNormal;
  agent::Enforce enforce = agent::Enforce::kAuto;
  SimChoice sim;
  bool wait = false;
  std::uint64_t wait_ms = 0;
  agent::OnPressure on_pressure = agent::OnPressure::kOom;
  std::uint64_t pressure_wait_ms = agent::kPressureWaitMs;
  agent::IdleRequest idle;
  std::vector<std::string> command;
  // The container that runs the command; `command` is as the user gave it.
  std::optional<ContainerArguments> container;
};

// A share that is kept under a name, for containers that come and go.
struct ShareOptions {
  enum class What { kCreate, kRemove } what = What::kCreate;
  RunOptions run;       // kCreate: allocation and name
  std::string cdi_dir;  // kCreate: folder of the CDI spec
  std::string name;     // kRemove
  SimChoice sim;
};

// The options of a run that decide its placement.
struct ExplainOptions {
  RunOptions run;
  Output output;
};

// A cluster, and the placement options of its scheduler.
struct ClusterChoice {
  ConnectionOptions connection;
  std::string namespace_name;              // empty: the context's
  std::vector<std::string> vendors;        // empty: all
  std::string node_policy, device_policy;  // empty: the engine's
  std::string pools;                       // a file; empty: none
  bool hami_scores = false;
  std::string device_config, model_resources;  // files; empty: none
  std::uint64_t min_runtime_ms = 0;            // of pods that state none
};

// A pod that exists, or pods that manifests would create.
struct ExplainPodOptions {
  ClusterChoice cluster;
  std::string namespace_name, name;
  std::vector<std::string> files;
  Output output;
};

struct ExplainReasonOptions {
  std::string code;  // or words of a message; empty: all
  Output output;
};

struct PlanPodsOptions {
  ClusterChoice cluster;
  std::vector<std::string> files;
  Output output;
};

struct ListOptions {
  enum class What { kTenants, kDevices } what = What::kTenants;
  SimChoice sim;
  Output output;
  std::optional<ClusterChoice> cluster;  // instead of agents
  std::string node;                      // of the cluster; empty: all
  // Without a namespace given: the context's namespace, not all.
  bool own_namespace = false;
};

// Devices of a cluster that get no new tenants; kDrain also evicts their pods.
struct CordonOptions {
  enum class What { kCordon, kUncordon, kDrain } what = What::kCordon;
  ClusterChoice cluster;
  std::string node, device;  // an index or a UUID; empty: all of the node
  bool dry_run = false, force = false;
  std::uint64_t timeout_ms = 0;
};

struct TopOptions {
  SimChoice sim;
  Output output;
  unsigned frames = 0;  // 0: until q, or 1 when not on a terminal
  std::uint64_t interval_ms = 1000;
};

// The web page of this machine.
struct ConsoleOptions {
  SimChoice sim;
  std::optional<ClusterChoice> cluster;     // none: this machine
  std::string team_label, agent_namespace;  // agent_namespace: empty: agents are not asked
  std::string host = "127.0.0.1";
  std::uint16_t port = 9400;
  std::string base_path = "/";
  std::uint64_t interval_ms = 1000;
  bool allow_changes = false;
  std::string history;         // a file; empty: in memory
  std::string history_folder;  // of a cluster: a file named after it is there; empty: `history`
  std::string price_file;      // empty: usage has no cost
  // Of a cluster.
  bool token_login = false;  // viewers sign in with tokens of the API server, not with a link
  std::string certificate_file, key_file;  // PEM; both empty: no TLS
  std::vector<std::string> trusted_proxies;
  std::vector<std::string> trust_headers_from;  // not empty: proxies that name the viewers
  std::string name;  // on the page; empty: the context's, or the server's
};

struct SetOptions {
  std::string tenant;
  std::optional<agent::MemoryRequest> memory;
  unsigned cores = 0;  // 0: unchanged
  std::optional<agent::CoresPolicy> cores_policy;
  std::optional<agent::Priority> priority;
  std::string name;
  std::optional<agent::MemoryRequest> guaranteed;
  std::optional<agent::OnPressure> on_pressure;
  std::optional<std::uint64_t> pressure_wait_ms;
  agent::IdleRequest idle;
  SimChoice sim;
};

// A container of a cluster's pod.
struct SetPodOptions {
  ClusterChoice cluster;
  std::string namespace_name, name;  // empty: the kubeconfig's
  std::string container;             // empty: the only one with devices
  Bytes memory;                      // of each of its devices; 0: unchanged
  unsigned cores = 0;                // percent of each device; 0: unchanged
  std::string priority;              // empty: unchanged
  bool wait = true;
  std::uint64_t timeout_ms = 0;
  Output output;
};

struct EventsOptions {
  std::string tenant;  // empty: all
  bool follow = false;
  SimChoice sim;
  Output output;
};

struct SnapshotOptions {
  std::string file;  // empty or "-": stdout
  bool redact = false;
  SimChoice sim;
  std::optional<ClusterChoice> cluster;  // instead of an agent
};

struct WaitOptions {
  std::string tenant;  // empty: all
  std::uint64_t timeout_ms = 0;
  SimChoice sim;
};

struct StopOptions {
  bool force = false;
  SimChoice sim;
};

// Scope of the checks. Neither: this machine, and a cluster if one is reachable.
struct DoctorOptions {
  bool node = false, cluster = false;
  std::string root = "/";
  std::vector<std::string> only;                      // ids of checks; empty: all
  bool list = false;                                  // only list the checks
  bool verbose = false;                               // also report what is ok, in full
  std::string runtime_dir, install_dir, kubelet_dir;  // empty: the default
  std::string node_settings;                          // a file; empty: those found
  std::string bundle;                                 // a file to write for support; empty: none
  bool redact_names = false, force = false;           // of the bundle
  ClusterChoice choice;
  Output output;
};

struct AgentOptions {
  agent::Node node;
  std::uint64_t idle_ms = 0;
  bool to_log_file = false;
  int ready_fd = -1;
  agent::Oversubscription memory;
  agent::IdlePolicy idle;
  agent::BypassPolicy bypass;
  agent::PlacementOptions placing;
  // This machine as a node of a cluster, without access to it; none: it is no such node.
  std::optional<agent::ClusterNode> cluster;
  bool model_names = false;  // devices are counted under their models' resources, too
  // The node's status states memory, and compute, under all resource names that pods may use.
  bool memory_names = false, cores_names = false;
  std::string model_resources;  // a file of further resources; empty: none
  std::string kubeconfig, context;
  std::optional<agent::MetricsOptions> metrics;
  agent::DeviceExclusions excluded;
  std::vector<std::string> notices;  // about settings of nodes; each is a warning
};

struct AgentHelperOptions {
  agent::HelperOptions helper;
};

// The cost of a context; whether time slices hold; whether checkpoints free a device.
enum class Probe { kContext, kTimeslice, kCheckpoint };

struct ProbeOptions {
  Probe kind = Probe::kContext;
  std::string cuda;
  std::string nvml;
  std::string uuid;
};

struct SimOptions {
  Output output;
};

struct SchedulerOptions {
  std::string kubeconfig,
      context;  // both empty: a pod's own access, else KUBECONFIG, else ~/.kube/config
  std::string name = "divvy-scheduler";
  std::vector<std::string> vendors;  // empty: all
  std::string device_config;         // a file of HAMi's; empty: none
  std::string host = "127.0.0.1", webhook_host = "0.0.0.0";
  std::uint16_t port = 9396, webhook_port = 9443;
  std::string certificate_file, key_file;
  std::optional<scheduler::OwnCertificate> own_certificate;
  std::string ports_file;
  bool all_feasible = false;
  scheduler::WhereAgents hami_label = scheduler::WhereAgents::kAuto;
  scheduler::WhereAgents locks = scheduler::WhereAgents::kAuto;
  scheduler::WhereAgents handshakes = scheduler::WhereAgents::kAuto;
  std::string lease_namespace, lease_name;  // no name: no Lease
  std::string identity;                     // empty: the host's name
  std::string node_policy, device_policy;   // empty: the engine's
  std::string pools;                        // a file; empty: none
  bool hami_scores = false;
  std::string metrics_host = "0.0.0.0";
  std::uint16_t metrics_port = 9395;
  bool hami_metrics = false;
  bool deprecated_names = true;
  std::string model_resources;  // a file; empty: none
  scheduler::PriorityRules priorities;
  enum class Print {
    kNothing,
    kConfig,
    kWebhook,
    kFencing,
    kPolicies,
    kQueues,
    kKueue,
    kOptions
  } print = Print::kNothing;
  std::vector<std::string> writers, binders, others;  // of policies
  std::uint64_t min_runtime_ms = 0;
  unsigned most_different_shares = 8;
  // For pods that do not use their devices.
  std::uint64_t idle_notice_ms = 300'000;
  std::uint64_t bypass_notice_ms = 60'000;
  std::uint64_t inventory_learning_ms = 3'600'000;  // 0: no inventories are written
  std::uint64_t idle_extension_ms = 3'600'000;
  std::string idle_url, idle_ca;
};

// Queues of a cluster.
struct QueuesOptions {
  ConnectionOptions connection;
  Output output;
};

// The free capacity of several clusters.
struct ClustersOptions {
  ConnectionOptions connection;
  std::vector<std::string> contexts;  // empty: all of the kubeconfig
  std::vector<std::string> files;     // manifests of the pod that is asked for; empty: none
  std::string namespace_name = "divvy-system";  // of Divvy, in each cluster
  std::string service = "divvy-scheduler";      // the scheduler's
  Output output;
};

// The hub of several clusters.
struct HubOptions {
  bool print_kueue = false;                      // print Kueue's configuration only
  std::vector<std::string> vendors;              // with `print_kueue`; empty: all
  std::string clusters;                          // kubeconfigs, separated by ':'
  std::vector<std::string> contexts;             // empty: all of them
  std::vector<std::string> reserved, on_demand;  // contexts; the others are private
  std::string namespace_name = "divvy-system";   // of Divvy, in each cluster
  std::string service = "divvy-scheduler";       // the scheduler's
  std::string host = "127.0.0.1";
  std::uint16_t port = 9450;
  bool dispatch = false;
  ConnectionOptions manager;  // with `dispatch`
  std::uint64_t spill_after_ms = 0;
  bool clears_nominations = false;
};

struct SizeOptions {
  bool list = false;  // only list the known models
  std::string model;  // a name or a path
  sizing::Request request;
  bool manifest = false;
  Output output;
};

struct VersionOptions {
  Output output;
};

struct OpenbOptions {
  std::string nodes;
  std::vector<std::string> pods;
  std::vector<engine::Policy> policies;
  unsigned seeds = 10;
  unsigned first_seed = 42;
  double tune = 1.3;
  unsigned sample_percent = 100;
  std::string json, svg;  // empty: none
  unsigned jobs = 0;      // 0: one for each processor
};

struct PlanOptions {
  std::string nodes, pods;
  std::vector<std::uint32_t> overcommit{1000, 1200, 1250, 1300, 1500, 2000};  // thousandths
  engine::Policy policy = engine::Policy::kPacking;
  unsigned seeds = 3;
  unsigned first_seed = 42;
  bool cards_only = false;
  std::string json, svg;  // empty: none
  unsigned jobs = 0;      // 0: one for each processor
  Output output;
};

struct DayOptions {
  std::string scenario;
  std::vector<std::uint32_t> overcommit;  // thousandths; empty: the scenario's
  unsigned seeds = 3;
  unsigned first_seed = 42;
  std::string json, svg;  // empty: none
  unsigned jobs = 0;      // 0: one for each processor
  Output output;
};

struct DefragOptions {
  std::string snapshot;
  engine::DefragmentationGoal goal = engine::DefragmentationGoal::kDevices;
  unsigned most_moves = 64;
  Output output;
};

struct ReplayOptions {
  std::string snapshot;
  simulator::ReplayOptions terms;
  bool expect_same = false;
  Output output;
};

// Text to print unchanged: help, completion scripts.
struct PrintOptions {
  std::string text;
};

using Options =
    std::variant<RunOptions, ExplainOptions, ListOptions, TopOptions, SetOptions, EventsOptions,
                 WaitOptions, StopOptions, AgentOptions, AgentHelperOptions, SchedulerOptions,
                 ProbeOptions, SimOptions, SizeOptions, VersionOptions, OpenbOptions, PlanOptions,
                 DayOptions, DefragOptions, ReplayOptions, SnapshotOptions, QueuesOptions,
                 ClustersOptions, HubOptions, ExplainPodOptions, ExplainReasonOptions,
                 PlanPodsOptions, CordonOptions, SetPodOptions, DoctorOptions, ShareOptions,
                 ConsoleOptions, PrintOptions>;

// kUsage: one line that names the accepted values.
Result<Options> parseOptions(int argc, char** argv);

using divvy::parseDurationMs;

// Parse a guarantee, "8Gi", "50%" or "0", and check that it is at most `memory` if both are bytes,
// or both percent.
Result<agent::MemoryRequest> parseGuarantee(std::string_view text);
Result<void> checkGuarantee(const agent::MemoryRequest& guaranteed,
                            const agent::MemoryRequest& memory);

// Parses a duration within the range of --pressure-wait.
Result<std::uint64_t> parsePressureWait(std::string_view text);

// Oversubscription options of an agent as text, from the command line or else the environment.
struct OversubscriptionText {
  std::vector<std::string> overcommit, budget;
  std::string host_reserve, chunk, quantum, checkpoint, host_map;
};
// kUsage: which option or variable is wrong.
Result<agent::Oversubscription> parseOversubscription(const OversubscriptionText& given);

// Parses "off" (0) or a duration.
Result<std::uint64_t> parseIdleTime(std::string_view text);

// Idle options of an agent as text, from the command line or else the environment.
struct IdleText {
  std::string reclaim, stop, notice, grace, hook;
};
// kUsage: which option or variable is wrong.
Result<agent::IdlePolicy> parseIdlePolicy(const IdleText& given);

struct BypassText {
  std::string on, notice;
};
// kUsage: which option or variable is wrong.
Result<agent::BypassPolicy> parseBypassPolicy(const BypassText& given);

// Parses "on" or "off"; an empty text changes nothing. kUsage: names `option` and what is accepted.
Result<void> readSwitch(const std::string& text, const char* option, bool* value);

// Parses a whole number from `low` to `high`; `what` names it in errors.
Result<unsigned> parseCount(std::string_view text, const std::string& what, unsigned low,
                            unsigned high);

// Parses percent of compute over all `gpus` devices, "30" or "30%": at least 1, at most 100 for
// each device. kUsage: the devices. `gpus` is 0 if the number is unknown; only impossible values
// are refused then.
inline constexpr unsigned kMaxGpus = 16;
Result<unsigned> parseCores(std::string_view text, unsigned gpus);

}  // namespace divvy::cli
