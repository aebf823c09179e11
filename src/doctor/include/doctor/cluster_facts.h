// What an API server told of a cluster, before anybody judges it. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

// Whether, of a kind of objects, all could be listed: with an error what was found says nothing.
using Listed = std::optional<Error>;

struct Version {
  std::uint32_t major = 0, minor = 0;
  std::string text;  // "v1.34.4+rke2r1"
};
// None: it has no such form. Of the API server's /version, whose minor may end in '+'.
std::optional<Version> versionOf(const std::string& major, const std::string& minor,
                                 const std::string& text);

struct WebhookFacts {
  std::string name;         // of the configuration
  std::string policy;       // failurePolicy
  std::string authorities;  // PEM; empty: none yet
  bool by_url = false;
  std::string space, service;  // whom it calls, where it is a Service
};

struct GuardPolicy {
  std::string name;
  bool bound = false;   // a binding of that policy is there
  bool denies = false;  // with the action Deny
};

struct LeaseFacts {
  std::string holder;           // empty: nobody
  std::int64_t renewed_ms = 0;  // by its holder's clock, since 1970; 0: never
  std::int64_t seconds = 0;
  std::int64_t looked_ms = 0;  // by ours
  bool moved = false;          // it was renewed while we looked
};

struct WorkloadFacts {
  std::string space, name;
  std::int64_t wanted = 0, ready = 0;
  std::string runtime_class;  // empty: none is named
};

struct NodeDevices {
  std::string name;
  std::int64_t allocatable = 0;  // of nvidia.com/gpu
  bool labelled = false;         // it is said to have NVIDIA's cards
  std::string unreadable;        // why its registration cannot be read
  std::size_t registered = 0;    // devices that its agent told of
  bool by_plugin = false;        // NVIDIA's plugin serves it, not ours
  std::string upgrading;         // what its driver's upgrade has come to; empty: none is going on
  // Of its devices' names, those by which pods ask for memory or compute and that it does not have.
  std::vector<std::string> unannounced = {};
  std::vector<std::string> surplus = {};  // registered beyond its inventory, a line each
};

// A DeviceClass that stands for an extended resource.
struct MappedClass {
  std::string name, resource;
};

// A pod that is nowhere, and asks for devices.
struct WaitingPod {
  std::string space, name, scheduler;
  bool gated = false;
};

// A container of a pod on a node with shares, whose environment names cards for NVIDIA's runtime.
struct PastShares {
  std::string space, pod, container;
  std::string cards;  // "all"
};

// Something in the cluster that does what we do.
struct Rival {
  enum class Kind { kHami, kPlugin } kind = Kind::kHami;
  std::string what;  // "DaemonSet kube-system/hami-device-plugin"
  bool webhook = false;
};

struct ClusterFacts {
  std::string server;          // host:port
  std::optional<Error> fault;  // nobody can be asked: nothing else was read
  std::optional<Version> version;
  std::string space = "divvy-system";  // where we are installed
  bool installed = false;              // anything of ours was found

  Listed webhooks_listed;
  std::optional<WebhookFacts> webhook;  // ours
  Listed endpoints_listed;
  std::size_t endpoints = 0;  // ready addresses of its Service
  Listed policies_listed;
  std::vector<GuardPolicy> policies;  // all of the cluster
  Listed queues_listed;
  bool queues = false;  // the kind Queue is served
  Listed lease_read;
  std::optional<LeaseFacts> lease;
  Listed workloads_listed;
  std::optional<WorkloadFacts> scheduler, agent;
  Listed spaces_listed;
  std::string security;  // of our namespace: pod-security.kubernetes.io/enforce; empty: not said
  Listed classes_listed;
  std::vector<std::string> classes;  // RuntimeClasses
  Listed mapped_listed;
  std::vector<MappedClass> mapped;  // all of the cluster
  Listed nodes_listed;
  std::vector<NodeDevices> nodes;
  Listed pods_listed;
  std::vector<WaitingPod> waiting;
  std::vector<PastShares> past_shares;  // daemons of nodes excepted: monitors do so
  std::vector<std::string> pods_unreadable;
  std::string own_scheduler = "divvy-scheduler";
  Listed rivals_listed;
  std::vector<Rival> rivals;
  std::int64_t now_ms = 0;  // since 1970
};

}  // namespace divvy::doctor
