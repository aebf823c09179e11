// Checks of a cluster's nodes and pods, and of other programs with Divvy's task.
#include <algorithm>
#include <iterator>
#include <map>

#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

void checkRegistered(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.nodes_listed) return sink.skip(facts.nodes_listed->message());
  std::size_t devices = 0, nodes = 0;
  for (const NodeDevices& one : facts.nodes) {
    devices += one.by_plugin ? 0 : one.registered;
    nodes += one.registered > 0 && !one.by_plugin ? 1 : 0;
    const bool cards = one.labelled || one.allocatable > 0;
    if (!one.unreadable.empty()) {
      sink.fault(
          {one.unreadable, "the node accepts no new shares",
           "find the agent that wrote it; Divvy's agent rewrites it at its start: kubectl -n " +
               facts.namespace_name +
               " delete pod -l app.kubernetes.io/component=agent "
               "--field-selector spec.nodeName=" +
               one.name},
          one.name);
    } else if (cards && one.registered == 0 && !one.by_plugin) {
      sink.warn({"has GPUs, and none is registered",
                 "no share is placed there: its agent does not run, or has no driver",
                 "divvy doctor --node, there; kubectl -n " + facts.namespace_name +
                     " get pods -o wide --field-selector spec.nodeName=" + one.name},
                one.name);
    }
  }
  if (sink.hasFindings()) return;
  if (facts.nodes.empty()) return sink.skip("the cluster has no nodes");
  sink.ok(counted(devices, "device") + " of " + counted(nodes, "node"));
}

void checkInventories(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.nodes_listed) return sink.skip(facts.nodes_listed->message());
  for (const NodeDevices& one : facts.nodes)
    for (const std::string& line : one.surplus)
      sink.warn({line, "devices beyond the inventory get no pods",
                 "if the node has them: kubectl annotate node " + one.name +
                     " divvy.dev/inventory-; if not, check its agent"},
                one.name);
  if (!sink.hasFindings()) sink.ok("no node does");
}

void checkPlugin(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.nodes_listed) return sink.skip(facts.nodes_listed->message());
  std::vector<std::string> whole;
  for (const NodeDevices& one : facts.nodes)
    if (one.by_plugin) whole.push_back(one.name);
  for (const ForeignInstallation& one : facts.foreign_installations)
    if (one.kind == ForeignInstallation::Kind::kPlugin)
      sink.warn({one.what + " serves nvidia.com/gpu",
                 "on nodes where Divvy's agent serves the same resource, the kubelet uses the "
                 "plugin that registered last",
                 "keep it off those nodes (its nodeSelector; ClusterPolicy: "
                 "devicePlugin.enabled=false), or agent.resource=divvy.dev/gpu"});
  if (!whole.empty())
    sink.ok(counted(whole.size(), "node") + " (" + joined(whole) +
            "): whole devices are placed there, shares are not");
  if (sink.hasFindings()) return;
  if (facts.rivals_listed) return sink.skip(facts.rivals_listed->message());
  sink.ok("there is none");
}

// Divvy's resources that count devices.
constexpr const char* kCounts[] = {"nvidia.com/gpu", "divvy.dev/gpu"};

void checkMapped(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.mapped_listed) return sink.skip(facts.mapped_listed->message());
  if (facts.nodes_listed) return sink.skip(facts.nodes_listed->message());
  const auto counts = [](const MappedClass& one) {
    return std::find(std::begin(kCounts), std::end(kCounts), one.resource) != std::end(kCounts);
  };
  const auto mapped = std::find_if(facts.mapped.begin(), facts.mapped.end(), counts);
  if (mapped == facts.mapped.end()) return sink.ok("none is mapped to a resource of Divvy");
  for (const NodeDevices& one : facts.nodes)
    if (one.registered > 0 && !one.by_plugin && !one.unannounced.empty())
      sink.warn({"does not announce " + joined(one.unannounced) + ", and DeviceClass " +
                     mapped->name + " is mapped to " + mapped->resource,
                 "Kubernetes 1.36 and later refuse it for every pod that requests these",
                 "let its agent announce them (--announce-memory, --announce-cores, and "
                 "agent-announce-rbac.yaml); for other agents, or by hand: "
                 "docs/operations/node-agent.md"},
                one.name);
  if (!sink.hasFindings())
    sink.ok("DeviceClass " + mapped->name + " is mapped to " + mapped->resource +
            ", and all nodes with shares announce memory and compute");
}

void checkUpgrade(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.nodes_listed) return sink.skip(facts.nodes_listed->message());
  for (const NodeDevices& one : facts.nodes)
    if (!one.upgrading.empty())
      sink.warn({"driver upgrade: " + one.upgrading, "it accepts no new pods until that is done",
                 one.upgrading.find("failed") == std::string::npos
                     ? "wait for it"
                     : "kubectl -n gpu-operator get pods -o wide"},
                one.name);
  if (!sink.hasFindings()) sink.ok("none is being upgraded");
}

void checkWaiting(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.pods_listed) return sink.skip(facts.pods_listed->message());
  std::size_t ours = 0;
  for (const WaitingPod& one : facts.waiting) {
    if (one.scheduler == facts.own_scheduler || one.gated) {
      ++ours;
      continue;
    }
    sink.warn({"requests devices, is pending, and names scheduler \"" +
                   (one.scheduler.empty() ? "default-scheduler" : one.scheduler) + "\"",
               "Divvy does not place it: it stays pending, or gets a device without limits",
               "recreate it: the webhook sets the scheduler when a pod is created"},
              one.namespace_name + "/" + one.name);
  }
  if (sink.hasFindings()) return;
  sink.ok(ours == 0
              ? "none is pending"
              : counted(ours, "pod") + " wait for Divvy: divvy explain pod shows the reasons");
}

void checkPastShares(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.pods_listed) return sink.skip(facts.pods_listed->message());
  for (const BypassingContainer& one : facts.past_shares)
    sink.warn({"container " + one.container + " has NVIDIA_VISIBLE_DEVICES=" + one.cards,
               "where NVIDIA's runtime is the default it gets whole devices, regardless of the "
               "shares on them",
               "remove it, and request devices in its limits; to refuse such pods: kubectl patch "
               "validatingadmissionpolicybinding divvy-visible-devices --type merge -p "
               "'{\"spec\":{\"validationActions\":[\"Deny\"]}}'"},
              one.namespace_name + "/" + one.pod);
  if (!sink.hasFindings()) sink.ok("none names GPUs in its environment");
}

void checkReadable(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.pods_listed) return sink.skip(facts.pods_listed->message());
  for (const std::string& one : facts.pods_unreadable)
    sink.fault({one, "its allocation is not counted: its devices may be promised twice",
                "find its writer; delete the pod, or remove the annotation"});
  if (!sink.hasFindings()) sink.ok("all are readable");
}

void checkHami(const ClusterFacts& facts, FindingBuilder& sink) {
  std::vector<std::string> found;
  bool webhook = false;
  for (const ForeignInstallation& one : facts.foreign_installations) {
    if (one.kind != ForeignInstallation::Kind::kHami) continue;
    found.push_back(one.what);
    webhook = webhook || one.webhook;
  }
  if (!found.empty())
    return sink.warn(
        {joined(found),
         webhook
             ? "its webhook also assigns pods with devices to its scheduler: the result is random"
             : "its components and Divvy's write the same annotations",
         "migrate by docs/guides/migration.md; then: helm uninstall hami"});
  if (facts.rivals_listed) return sink.skip(facts.rivals_listed->message());
  sink.ok("not found");
}

}  // namespace

ClusterEntries nodesChecks() {
  return {
      {"node-registrations", "have all nodes with GPUs registered them, readably", checkRegistered},
      {"node-inventories", "does a node register more devices than its inventory",
       checkInventories},
      {"node-plugins", "does NVIDIA's own device plugin serve nodes", checkPlugin},
      {"device-classes", "does a DeviceClass keep pods that ask for memory or compute off nodes",
       checkMapped},
      {"node-upgrades", "is a node excluded by a driver upgrade", checkUpgrade},
      {"waiting-pods", "do pods with devices name schedulers without Divvy", checkWaiting},
      {"pods-past-shares", "do pods get GPUs by their environment, outside all shares",
       checkPastShares},
      {"pod-assignments", "are assignments of pods readable", checkReadable},
      {"hami-installed", "is HAMi still installed beside Divvy", checkHami}};
}

}  // namespace divvy::doctor
