// `divvy gpus` and `divvy ls` of a cluster: allocations as its scheduler counts them, by device.
#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "commands/commands.h"
#include "engine/engine.h"
#include "kubernetes/cluster.h"
#include "scheduler/explain.h"
#include "view/cluster_list_view.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

using scheduler::DeviceUsage;

std::vector<DeviceUsage> devicesOf(const Cluster& cluster) {
  std::vector<DeviceUsage> all;
  for (const std::string& node : cluster.cache().nodes().names())
    for (DeviceUsage& one : cluster.cache().nodes().devicesOf(node)) all.push_back(std::move(one));
  return all;
}

std::string containerOf(const kube::Pod& pod, std::size_t at) {
  const bool init = at < pod.init.size();
  const auto& list = init ? pod.init : pod.containers;
  const std::size_t within = init ? at : at - pod.init.size();
  return within < list.size() ? list[within].name : "#" + std::to_string(at);
}

// The reason why a pod waits, from the component that knows most about it.
std::string whyItWaits(const ClusterPod& one) {
  if (!one.pod.gates.empty()) return "held by scheduling gate " + one.pod.gates.front();
  for (const kube::PodCondition& condition : one.pod.conditions)
    if (condition.type == scheduler::kDevicesFit && condition.status == "False")
      return condition.message;
  return one.unscheduled;
}

ClusterShare waitingOf(const ClusterPod& one) {
  ClusterShare share;
  share.namespace_name = one.pod.meta.namespace_name;
  share.pod = one.pod.meta.name;
  share.state = "waits";
  share.reason = whyItWaits(one);
  return share;
}

// Index and model of each device, by node and UUID.
using UsageByDevice = std::map<std::pair<std::string, std::string>, const DeviceUsage*>;

const char* stateOf(const kube::Pod& pod) {
  if (pod.meta.deleting) return "ending";
  if (pod.phase == kube::PodPhase::kUnknown) return "unknown";
  return pod.phase == kube::PodPhase::kRunning ? "running" : "pending";
}

// An init container of a running pod has ended; a sidecar has not.
bool isOver(const scheduler::AllocatedShare& held, const kube::Pod& pod) {
  return pod.phase == kube::PodPhase::kRunning && held.container < pod.init.size() &&
         !pod.init[held.container].sidecar;
}

ClusterShare shareOf(const scheduler::AllocatedShare& held, const ClusterPod& one,
                     const UsageByDevice& places) {
  ClusterShare share;
  share.namespace_name = held.namespace_name;
  share.pod = held.pod;
  share.container = containerOf(one.pod, held.container);
  share.node = held.node;
  share.uuid = held.uuid;
  share.memory = held.memory;
  share.compute = held.compute;
  share.state = stateOf(one.pod);
  const auto place = places.find({held.node, held.uuid});
  if (place == places.end()) return share;
  share.index = place->second->index;
  share.model = place->second->model;
  // Only the plugin knows which container of the pod has which device.
  if (place->second->by_plugin) share.container = "*";
  return share;
}

std::vector<ClusterShare> sharesOf(const Cluster& cluster,
                                   const std::vector<DeviceUsage>& devices) {
  UsageByDevice places;
  for (const DeviceUsage& one : devices) places[{one.node, one.uuid}] = &one;
  std::map<std::pair<std::string, std::string>, const ClusterPod*> pods;
  for (const auto& [uid, one] : cluster.pods())
    pods[{one.pod.meta.namespace_name, one.pod.meta.name}] = &one;
  std::vector<ClusterShare> all;
  for (const scheduler::AllocatedShare& held : cluster.cache().pods().shares()) {
    const auto pod = pods.find({held.namespace_name, held.pod});
    if (pod == pods.end() || isOver(held, pod->second->pod)) continue;
    all.push_back(shareOf(held, *pod->second, places));
  }
  for (const auto& [uid, one] : cluster.pods())
    if (one.pod.node.empty() && !one.pod.ended()) all.push_back(waitingOf(one));
  std::stable_sort(all.begin(), all.end(), [](const ClusterShare& a, const ClusterShare& b) {
    return std::tie(a.namespace_name, a.pod, a.container, a.index) <
           std::tie(b.namespace_name, b.pod, b.container, b.index);
  });
  return all;
}

}  // namespace

int listCluster(const ListOptions& options) {
  const Result<std::unique_ptr<Cluster>> cluster = Cluster::read(*options.cluster);
  if (!cluster) return fail(cluster.error());
  for (const std::string& trouble : (*cluster)->troubles()) printNote("not listed: " + trouble);
  const std::string& node = options.node;
  const std::string ns =
      options.own_namespace ? (*cluster)->api().namespaceName() : options.cluster->namespace_name;
  if (!node.empty() && (*cluster)->cache().nodes().nodeNamed(node) == nullptr)
    return fail(
        {ErrorCode::kNotFound,
         "\"" + node + "\" has no devices; `divvy gpus --cluster` lists nodes with devices"});
  std::vector<DeviceUsage> devices = devicesOf(**cluster);
  std::vector<ClusterShare> shares = sharesOf(**cluster, devices);
  std::erase_if(devices, [&](const DeviceUsage& one) { return !node.empty() && one.node != node; });
  std::erase_if(shares, [&](const ClusterShare& one) {
    return (!node.empty() && one.node != node) || (!ns.empty() && one.namespace_name != ns);
  });
  const bool tenants = options.what == ListOptions::What::kTenants;
  const bool headers = options.output.headers;
  const std::size_t width = options.output.wide ? 0 : outputWidth();
  std::string text;
  if (options.output.json) {
    text = tenants ? clusterSharesJson(shares) : clusterDevicesJson(devices, shares);
  } else {
    // Users copy UUIDs, so they are not cut.
    text = tenants ? clusterSharesText(shares, headers, width)
                   : clusterDevicesText(devices, headers, 0);
  }
  std::fputs(text.c_str(), stdout);
  // Like kubectl: the objects may be in another namespace.
  if (options.own_namespace && tenants && shares.empty())
    printNote("no pod with devices in namespace " + ns + "; use -A for all namespaces");
  return 0;
}

}  // namespace divvy::cli
