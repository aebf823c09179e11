// Facts of a cluster from its API server, before checks judge them. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

// Error of listing one kind of objects. With an error the objects found are incomplete.
using ListError = std::optional<Error>;

struct Version {
  std::uint32_t major = 0, minor = 0;
  std::string text;  // "v1.34.4+rke2r1"
};
// Returns the version in the API server's /version; the minor may end in '+'. Returns nothing for
// another form.
std::optional<Version> versionOf(const std::string& major, const std::string& minor,
                                 const std::string& text);

struct WebhookFacts {
  std::string name;         // of the configuration
  std::string policy;       // failurePolicy
  std::string authorities;  // PEM; empty: none yet
  bool by_url = false;
  std::string namespace_name, service;  // the called Service, if any
};

struct GuardPolicy {
  std::string name;
  bool bound = false;   // a binding of the policy exists
  bool denies = false;  // with the action Deny
};

struct LeaseFacts {
  std::string holder;           // empty: none
  std::int64_t renewed_ms = 0;  // milliseconds since 1970, by its holder's clock; 0: never
  std::int64_t seconds = 0;
  std::int64_t looked_ms = 0;  // milliseconds since 1970, by our clock
  bool moved = false;          // renewed during the examination
};

struct WorkloadFacts {
  std::string namespace_name, name;
  std::int64_t wanted = 0, ready = 0;
  std::string runtime_class;  // empty: none
};

struct NodeDevices {
  std::string name;
  std::int64_t allocatable = 0;  // of nvidia.com/gpu
  bool labelled = false;         // labels state that it has NVIDIA's devices
  std::string unreadable;        // why its registration cannot be read
  std::size_t registered = 0;    // devices that its agent registered
  bool by_plugin = false;        // NVIDIA's plugin serves it, not ours
  std::string upgrading;         // state of its driver's upgrade; empty: none
  // Resources of memory and compute of its devices that its status lacks.
  std::vector<std::string> unannounced = {};
  std::vector<std::string> surplus = {};  // registered beyond its inventory, a line each
};

// A DeviceClass for an extended resource.
struct MappedClass {
  std::string name, resource;
};

// A pod that requests devices and is not bound.
struct WaitingPod {
  std::string namespace_name, name, scheduler;
  bool gated = false;
};

// A container on a node with shares that names devices for NVIDIA's runtime in its environment.
struct BypassingContainer {
  std::string namespace_name, pod, container;
  std::string cards;  // "all"
};

// Another installation with the same purpose as Divvy.
struct ForeignInstallation {
  enum class Kind { kHami, kPlugin } kind = Kind::kHami;
  std::string what;  // "DaemonSet kube-system/hami-device-plugin"
  bool webhook = false;
};

struct ClusterFacts {
  std::string server;          // host:port
  std::optional<Error> fault;  // the API server cannot be reached; nothing else was read
  std::optional<Version> version;
  std::string namespace_name = "divvy-system";  // namespace of the installation
  bool installed = false;                       // any object of Divvy was found

  ListError webhooks_listed;
  std::optional<WebhookFacts> webhook;  // Divvy's
  ListError endpoints_listed;
  std::size_t endpoints = 0;  // ready addresses of the webhook's Service
  ListError policies_listed;
  std::vector<GuardPolicy> policies;  // all of the cluster
  ListError queues_listed;
  bool queues = false;  // the kind Queue is served
  ListError lease_read;
  std::optional<LeaseFacts> lease;
  ListError workloads_listed;
  std::optional<WorkloadFacts> scheduler, agent;
  ListError namespaces_listed;
  // pod-security.kubernetes.io/enforce of our namespace; empty: not stated.
  std::string security;
  ListError classes_listed;
  std::vector<std::string> classes;  // RuntimeClasses
  ListError rules_listed;
  // PrometheusRules with names of the release before, "NAMESPACE/NAME"; without Divvy's own.
  std::vector<std::string> deprecated_rules;
  ListError mapped_listed;
  std::vector<MappedClass> mapped;  // all of the cluster
  ListError nodes_listed;
  std::vector<NodeDevices> nodes;
  ListError pods_listed;
  std::vector<WaitingPod> waiting;
  std::vector<BypassingContainer> past_shares;  // without DaemonSets: monitors do this
  std::vector<std::string> pods_unreadable;
  std::string own_scheduler = "divvy-scheduler";
  ListError rivals_listed;
  std::vector<ForeignInstallation> foreign_installations;
  std::int64_t now_ms = 0;  // milliseconds since 1970
};

}  // namespace divvy::doctor
