// The command line, parsed: one struct per subcommand.
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
#include "sizing/serving.h"

namespace divvy::cli {

// --sim: absent = whatever runs here; else the profile.
using SimChoice = std::optional<std::string>;

struct Output {
  bool json = false;
  bool wide = false;  // all columns, whatever the terminal's width
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
  std::optional<ContainerWords> container;  // in which the command is; `command` is as it was said
};

// A share that is kept under a name, for containers that come and go.
struct ShareOptions {
  enum class What { kCreate, kRemove } what = What::kCreate;
  RunOptions run;       // kCreate: what it has, and its name
  std::string cdi_dir;  // likewise: where its device is written down
  std::string name;     // kRemove
  SimChoice sim;
};

// Of a run, what decides where it goes.
struct ExplainOptions {
  RunOptions run;
  Output output;
};

// A cluster, and how its scheduler was told to place.
struct ClusterChoice {
  Reach reach;
  std::string space;                       // namespace; empty: the context's
  std::vector<std::string> vendors;        // empty: all
  std::string node_policy, device_policy;  // empty: the engine's
  std::string pools;                       // a file; empty: none
  bool hami_scores = false;
  std::string device_config, model_resources;  // files; empty: none
  std::uint64_t min_runtime_ms = 0;            // of pods that do not say it themselves
};

// Of a pod that is there, or of those that manifests would make.
struct ExplainPodOptions {
  ClusterChoice cluster;
  std::string space, name;
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
  bool own_space = false;  // of it, where no namespace is said: the context's, not all
};

// Devices of a cluster that get nothing new; kDrain: and whose pods are to leave.
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
  unsigned frames = 0;  // 0 = until q, or 1 when not on a terminal
  std::uint64_t interval_ms = 1000;
};

struct SetOptions {
  std::string tenant;
  std::optional<agent::MemoryRequest> memory;
  unsigned cores = 0;  // 0 = as before
  std::optional<agent::CoresPolicy> cores_policy;
  std::optional<agent::Priority> priority;
  std::string name;
  std::optional<agent::MemoryRequest> guaranteed;
  std::optional<agent::OnPressure> on_pressure;
  std::optional<std::uint64_t> pressure_wait_ms;
  agent::IdleRequest idle;
  SimChoice sim;
};

// Of a container of a cluster's pod.
struct SetPodOptions {
  ClusterChoice cluster;
  std::string space, name;  // space: empty: the kubeconfig's
  std::string container;    // empty: the only one that has devices
  Bytes memory;             // of each of its devices; 0: as before
  unsigned cores = 0;       // percent, likewise
  std::string priority;     // empty: as before
  bool wait = true;
  std::uint64_t timeout_ms = 0;
  Output output;
};

struct EventsOptions {
  std::string tenant;  // empty = all
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
  std::string tenant;  // empty = all
  std::uint64_t timeout_ms = 0;
  SimChoice sim;
};

struct StopOptions {
  bool force = false;
  SimChoice sim;
};

// What is looked at: neither scope said: this machine, and a cluster where there is one to ask.
struct DoctorOptions {
  bool node = false, cluster = false;
  std::string root = "/";
  std::vector<std::string> only;                      // ids of checks; empty: all
  bool list = false;                                  // only what checks there are
  bool verbose = false;                               // what is well, too, in full
  std::string runtime_dir, install_dir, kubelet_dir;  // empty: the usual
  std::string node_settings;                          // a file; empty: those that are found
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
  // This machine is a node of a cluster: all but how to get there. Nothing: it is not.
  std::optional<agent::ClusterNode> cluster;
  bool model_names = false;  // its devices are also counted by those of their models
  // Its status says memory, and compute, under all names that pods may use.
  bool memory_names = false, cores_names = false;
  std::string model_resources;  // a file of further ones; empty: none
  std::string kubeconfig, context;
  std::optional<agent::MetricsOptions> metrics;
  agent::DeviceExclusions excluded;
  std::vector<std::string> notices;  // of what is said of nodes: a warning each
};

struct AgentHelperOptions {
  agent::HelperOptions helper;
};

// What a context costs, whether time slices hold, calls that take processes off their cards.
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
      context;  // both empty: what a pod has, else KUBECONFIG, else ~/.kube/config
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
  std::string lease_space, lease_name;     // no name: there is none
  std::string identity;                    // empty: the host's name
  std::string node_policy, device_policy;  // empty: the engine's
  std::string pools;                       // a file; empty: none
  bool hami_scores = false;
  std::string metrics_host = "0.0.0.0";
  std::uint16_t metrics_port = 9395;
  bool hami_metrics = false;
  std::string model_resources;  // a file; empty: none
  scheduler::PriorityRules priorities;
  enum class Print {
    kNothing,
    kConfig,
    kWebhook,
    kFencing,
    kPolicies,
    kQueues,
    kOptions
  } print = Print::kNothing;
  std::vector<std::string> writers, binders, others;  // of policies
  std::uint64_t min_runtime_ms = 0;
  unsigned most_different_shares = 8;
  // Of pods that do not use their devices.
  std::uint64_t idle_notice_ms = 300'000;
  std::uint64_t bypass_notice_ms = 60'000;
  std::uint64_t inventory_learning_ms = 3'600'000;  // 0: no inventories are written
  std::uint64_t idle_extension_ms = 3'600'000;
  std::string idle_url, idle_ca;
};

// Of a cluster.
struct QueuesOptions {
  Reach reach;
  Output output;
};

struct SizeOptions {
  bool list = false;  // only what models are known
  std::string model;  // a name, or a path
  sizing::Question question;
  bool context_given = false;
  std::optional<std::uint64_t> gpus;  // else as many as it takes
  std::optional<sizing::Card> card;
  sizing::Engine engine = sizing::Engine::kVllm;
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
  unsigned jobs = 0;      // 0: as many as there are processors
};

struct PlanOptions {
  std::string nodes, pods;
  std::vector<std::uint32_t> overcommit{1000, 1200, 1250, 1300, 1500, 2000};  // thousandths
  engine::Policy policy = engine::Policy::kPacking;
  unsigned seeds = 3;
  unsigned first_seed = 42;
  bool cards_only = false;
  std::string json, svg;  // empty: none
  unsigned jobs = 0;      // 0: as many as there are processors
  Output output;
};

struct DayOptions {
  std::string scenario;
  std::vector<std::uint32_t> overcommit;  // thousandths; empty: the scenario's
  unsigned seeds = 3;
  unsigned first_seed = 42;
  std::string json, svg;  // empty: none
  unsigned jobs = 0;      // 0: as many as there are processors
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
  simulator::ReplayTerms terms;
  bool expect_same = false;
  Output output;
};

// Text to print as it is: help, completion scripts.
struct PrintOptions {
  std::string text;
};

using Options =
    std::variant<RunOptions, ExplainOptions, ListOptions, TopOptions, SetOptions, EventsOptions,
                 WaitOptions, StopOptions, AgentOptions, AgentHelperOptions, SchedulerOptions,
                 ProbeOptions, SimOptions, SizeOptions, VersionOptions, OpenbOptions, PlanOptions,
                 DayOptions, DefragOptions, ReplayOptions, SnapshotOptions, QueuesOptions,
                 ExplainPodOptions, ExplainReasonOptions, PlanPodsOptions, CordonOptions,
                 SetPodOptions, DoctorOptions, ShareOptions, PrintOptions>;

// kUsage errors are one line that says what is accepted.
Result<Options> parseOptions(int argc, char** argv);

using divvy::parseDurationMs;

// "8Gi", "50%" or "0", and with `memory` at most that where both are bytes, or both percent.
Result<agent::MemoryRequest> parseGuarantee(std::string_view text);
Result<void> checkGuarantee(const agent::MemoryRequest& guaranteed,
                            const agent::MemoryRequest& memory);

// As a duration, of the lengths that --pressure-wait may have.
Result<std::uint64_t> parsePressureWait(std::string_view text);

// What an agent may be told of oversubscription as text, by option or else by environment.
struct OversubscriptionText {
  std::vector<std::string> overcommit, budget;
  std::string host_reserve, chunk, quantum, checkpoint, host_map;
};
// kUsage names the option, or the variable, that is wrong.
Result<agent::Oversubscription> parseOversubscription(const OversubscriptionText& given);

// "off" (0), or a time.
Result<std::uint64_t> parseIdleTime(std::string_view text);

// What an agent may be told of idle tenants, by option or else by environment.
struct IdleText {
  std::string reclaim, stop, notice, grace, hook;
};
// kUsage names the option, or the variable, that is wrong.
Result<agent::IdlePolicy> parseIdlePolicy(const IdleText& given);

struct BypassText {
  std::string on, notice;
};
// Likewise.
Result<agent::BypassPolicy> parseBypassPolicy(const BypassText& given);

// A whole number in [low, high]; `what` names it in the error.
Result<unsigned> parseCount(std::string_view text, const std::string& what, unsigned low,
                            unsigned high);

// Percent of compute in total over `gpus` devices, "30" or "30%": at least 1 and at most 100 of
// each. kUsage names the devices; 0 = how many is not known here, only what can never be is
// refused.
inline constexpr unsigned kMaxGpus = 16;
Result<unsigned> parseCores(std::string_view text, unsigned gpus);

}  // namespace divvy::cli
