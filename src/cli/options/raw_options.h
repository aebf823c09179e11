// Values as given on the command line, and functions that make options of them.
#pragma once

#include <string>
#include <vector>

#include "options/options.h"

namespace divvy::cli {

// For `divvy size`.
struct SizeText : sizing::RequestWords {
  std::string model;
  bool list = false, manifest = false;
};

// For all simulations.
struct SimulateText {
  std::string nodes, scenario, seeds, first_seed, tune, sample, json, svg, jobs, goal, most_moves;
  std::string snapshot, device_policy;
  bool expect_same = false;
  std::vector<std::string> pods, policies, overcommit;
  bool cards_only = false;
};

// For `divvy scheduler`.
struct SchedulerText {
  std::string kubeconfig, context, name, listen, webhook_listen, certificate, key, ports, print;
  bool all_feasible = false;
  std::string lease, identity;
  std::string node_policy, device_policy, pools, compat, metrics_listen, device_config, hami_label,
      locks, handshakes;
  std::vector<std::string> vendors;
  std::string model_resources, priority_class, priority_value;
  bool compat_metrics = false;
  std::string deprecated_names;
  std::string secret, registration, names, life;  // of its own certificate
  std::string writers, binders, others;           // of --print policies
  std::string min_runtime, most_different_shares;
  std::string idle_notice, idle_url, idle_ca, idle_extension, bypass_notice, inventory_learning;
};

// For `divvy console`.
struct ConsoleText {
  std::string listen, base_path, history, team_label, agents, login, certificate, key, name, prices,
      proxies, naming;
  bool local = false, allow_changes = false;
};

// Access to a cluster, named as kubectl's options.
struct ConnectionText {
  std::string kubeconfig, context, cluster, user, server, server_name, authority, token,
      certificate, key, as, as_uid, timeout;
  std::vector<std::string> as_groups;
  bool insecure = false;
  friend bool operator==(const ConnectionText&, const ConnectionText&) = default;
};

// For all commands about a cluster.
struct ClusterText {
  ConnectionText connection;
  std::string namespace_name, node_policy, device_policy, pools, compat, device_config,
      model_resources, min_runtime;
  std::string node;       // the node that a list is limited to
  std::string container;  // of a pod
  std::vector<std::string> vendors, words, files;
  std::vector<std::string> contexts;               // of several clusters
  std::string divvy_namespace, scheduler_service;  // of Divvy, in each cluster
  bool cluster = false;                            // for commands that are for agents, too
  bool dry_run = false;
  bool all_namespaces = false;
  // Namespace given to kubectl's plugin for a command that has none.
  std::string idle_namespace;
  bool idle_all_namespaces = false;
};

// For `divvy hub`.
struct HubText {
  std::string clusters, listen, spill_after, print;
  std::vector<std::string> reserved, on_demand;
  bool dispatch = false, clears_nominations = false;
};

// For an agent on a Kubernetes node.
struct ClusterNodeText {
  std::string name, kubeconfig, context, kubelet_dir, per_device, metrics_listen, install_dir,
      settings, injection, cdi_dir, metrics_labels, dialect, model_names, model_resources,
      deprecated_names;
  std::vector<std::string> resources, announce_memory, announce_cores;
  bool compat_metrics = false, announce_numa = false, by_helper = false;
};

// For `divvy agent-helper`.
struct AgentHelperText {
  std::string kubelet_dir, cdi_dir, install_dir, agent_user;
};

// For `divvy doctor`.
struct DoctorText {
  std::string root, runtime_dir, install_dir, kubelet_dir, node_settings, bundle;
  std::vector<std::string> only;
  bool node = false, list = false, verbose = false, redact_names = false;
};

struct RawOptions {
  std::string memory, cores, policy, gpus, name, priority, enforce, wait, overhead, output,
      interval, frames, tenant, timeout;
  std::string node, idle_exit, ready_fd, cuda, nvml, uuid, shell, sim;
  std::string guaranteed, on_pressure, pressure_wait;
  std::string pool, pools, device_policy, expected_use;
  std::string idle_reclaim, idle_stop;  // of one tenant
  OversubscriptionText memory_terms;
  IdleText idle;
  BypassText bypass;
  SchedulerText scheduler;
  ClusterText cluster;
  HubText hub;
  ClusterNodeText cluster_node;
  AgentHelperText agent_helper;
  DoctorText doctor;
  SizeText size;
  ConsoleText console;
  SimulateText simulate;
  std::vector<std::string> models, uuids, command;
  std::string cdi_dir;  // of `divvy share`
  std::string runtime;  // podman or docker: `command` is for it; empty: none
  bool all = false, force = false, no_headers = false, no_color = false, log_file = false;
  bool redact = false;
  bool no_wait = false;
  bool plugin = false;  // called as kubectl-divvy
  bool follow = false, sim_given = false, wait_given = false;
};

// Returns whether the command is about a cluster instead of an agent; with kubectl's plugin always.
bool meansCluster(const RawOptions& raw);
// Returns whether an option is given that only agents support.
bool hasAgentOptions(const RawOptions& raw);
bool hasConnectionOptions(const ConnectionText& text);
Result<ConnectionOptions> connectionOf(const ConnectionText& text);
Result<ClusterChoice> clusterOf(const RawOptions& raw);
Result<Output> outputOf(const RawOptions& raw, bool wide = false);
// For `divvy explain` of pods.
Result<Options> makeExplainPod(const RawOptions& raw);

// One for each subcommand. kUsage: one line that names the accepted values.
Result<Options> makeRun(const RawOptions& raw);
Result<Options> makeShare(ShareOptions::What what, const RawOptions& raw);
Result<Options> makeExplain(const RawOptions& raw);
Result<Options> makePlanPods(const RawOptions& raw);
Result<Options> makeCordon(CordonOptions::What what, const RawOptions& raw);
Result<Options> makeList(ListOptions::What what, const RawOptions& raw);
Result<Options> makeTop(const RawOptions& raw);
Result<Options> makeConsole(const RawOptions& raw);
Result<Options> makeSet(const RawOptions& raw);
// Returns whether the text is "pod/...".
bool namesPod(const std::string& tenant);
Result<Options> makeSetPod(const RawOptions& raw);
Result<Options> makeEvents(const RawOptions& raw);
Result<Options> makeSnapshot(const RawOptions& raw);
Result<Options> makeWait(const RawOptions& raw);
Result<Options> makeStop(const RawOptions& raw);
Result<Options> makeAgentHelper(const RawOptions& raw);
Result<Options> makeDoctor(const RawOptions& raw);
Result<Options> makeAgent(const RawOptions& raw);
Result<Options> makeScheduler(const RawOptions& raw);
Result<Options> makeQueues(const RawOptions& raw);
Result<Options> makeClusters(const RawOptions& raw);
Result<Options> makeHub(const RawOptions& raw);
Result<Options> makeSize(const RawOptions& raw);
Result<Options> makeOpenb(const RawOptions& raw);
Result<Options> makePlan(const RawOptions& raw);
Result<Options> makeDefrag(const RawOptions& raw);
Result<Options> makeReplay(const RawOptions& raw);
Result<Options> makeDay(const RawOptions& raw);
Result<Options> makeOutput(bool version, const RawOptions& raw);

}  // namespace divvy::cli
