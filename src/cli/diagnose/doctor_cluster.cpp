#include "diagnose/doctor_cluster.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include "base/quantity.h"
#include "config/device_config_file.h"
#include "json/path.h"
#include "kubernetes/device_classes.h"
#include "scheduler/cache.h"
#include "scheduler/resource_catalog.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using doctor::ClusterFacts;

constexpr const char* kResource = "nvidia.com/gpu";
constexpr const char* kAsked[] = {"nvidia.com/gpumem", "nvidia.com/gpucores"};
constexpr const char* kUpgrade = "nvidia.com/gpu-driver-upgrade-state";

std::int64_t nowMs() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

std::int64_t amountIn(const kube::Quantities& all, const char* resource) {
  const auto found = all.find(resource);
  if (found == all.end()) return 0;
  const Result<Quantity> amount = Quantity::parse(found->second);
  return amount ? amount->whole().value_or(0) : 0;
}

// Labels of GPU feature discovery and node feature discovery.
bool hasDeviceLabels(const kube::Labels& labels) {
  for (const char* key :
       {"nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present"}) {
    const auto found = labels.find(key);
    if (found != labels.end() && found->second == "true") return true;
  }
  return false;
}

bool isOurKey(const std::string& key) {
  return key.starts_with("divvy.dev/") || key.starts_with("hami.io/") ||
         key.starts_with("use.divvy.dev/");
}

bool hasOurKeys(const kube::Labels& annotations) {
  for (const auto& [key, value] : annotations)
    if (isOurKey(key)) return true;
  return false;
}

void addNode(const json::value& object, scheduler::SchedulerCache& cache,
             ClusterObservation* observation) {
  const Result<kube::Node> node = kube::nodeOf(object);
  doctor::NodeDevices one;
  if (!node) {
    one.name = textAt(object, {"metadata", "name"});
    one.unreadable = node.error().message();
    observation->facts.nodes.push_back(std::move(one));
    return;
  }
  one.name = node->meta.name;
  one.allocatable = amountIn(node->allocatable, kResource);
  one.labelled = hasDeviceLabels(node->meta.labels);
  const Result<void> set = cache.setNode(*node);
  if (!set) one.unreadable = set.error().message();
  for (const scheduler::DeviceUsage& device : cache.nodes().devicesOf(one.name)) {
    ++one.registered;
    one.by_plugin = one.by_plugin || device.by_plugin;
  }
  for (const char* name : kAsked)
    if (!node->allocatable.contains(name)) one.unannounced.emplace_back(name);
  const auto upgrade = node->meta.labels.find(kUpgrade);
  if (upgrade != node->meta.labels.end() && upgrade->second != "upgrade-done")
    one.upgrading = upgrade->second;
  if (one.registered > 0 || one.labelled || one.allocatable > 0 ||
      hasOurKeys(node->meta.annotations))
    observation->nodes.push_back(object);
  observation->facts.nodes.push_back(std::move(one));
}

// UUIDs, indices and "all"; other values of an environment are not reported.
bool namesDevices(const std::string& value) {
  return value.size() < 100 && std::all_of(value.begin(), value.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == ',' || c == ':';
         });
}

// The devices that its environment names for NVIDIA's runtime; empty: none.
std::string cardsNamedBy(const json::value& container) {
  for (const json::value& one : listAt(container, {"env"})) {
    if (textAt(one, {"name"}) != "NVIDIA_VISIBLE_DEVICES") continue;
    if (presentAt(one, {"valueFrom"}) != nullptr) return "(from elsewhere)";
    const std::string value = textAt(one, {"value"});
    if (value == "none" || value == "void") return "";
    return namesDevices(value) ? value : "(something else)";
  }
  return "";
}

void addBypassingContainer(const json::value& object, const kube::Pod& pod,
                           const scheduler::SchedulerCache& cache, ClusterFacts* facts) {
  if (pod.controller == "DaemonSet" || cache.nodes().devicesOf(pod.node).empty()) return;
  for (const char* list : {"initContainers", "containers"})
    for (const json::value& one : listAt(object, {"spec", list}))
      if (const std::string cards = cardsNamedBy(one); !cards.empty())
        facts->past_shares.push_back(
            {pod.meta.namespace_name, pod.meta.name, textAt(one, {"name"}), cards});
}

void addPod(const json::value& object, scheduler::SchedulerCache& cache,
            ClusterObservation* observation) {
  const Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) return observation->facts.pods_unreadable.push_back(pod.error().message());
  if (pod->ended()) return;
  const Result<void> set = cache.setPod(*pod);
  if (!set) observation->facts.pods_unreadable.push_back(set.error().message());
  addBypassingContainer(object, *pod, cache, &observation->facts);
  const auto request = cache.pods().requestFor(*pod);
  const bool asks = !request || request->has_value();
  if (asks || hasOurKeys(pod->meta.annotations)) observation->pods.push_back(object);
  if (asks && pod->node.empty())
    observation->facts.waiting.push_back(
        {pod->meta.namespace_name, pod->meta.name, pod->scheduler, !pod->gates.empty()});
}

doctor::ListError listedOf(const Result<void>& listed) {
  if (listed) return std::nullopt;
  return listed.error();
}

void readNodesAndPods(KubeApi& api, const vendors::Catalog& catalog,
                      ClusterObservation* observation) {
  scheduler::SchedulerCache cache(catalog, {});
  observation->facts.nodes_listed =
      listedOf(api.list("/api/v1/nodes", "",
                        [&](const json::value& object) { addNode(object, cache, observation); }));
  // After all nodes are read, because any of them may have a UUID.
  for (doctor::NodeDevices& one : observation->facts.nodes) {
    const scheduler::NodeInventory* inventory = cache.nodes().inventoryOf(one.name);
    if (inventory != nullptr) one.surplus = inventory->surplus;
  }
  observation->facts.pods_listed = listedOf(api.list(
      "/api/v1/pods", "", [&](const json::value& object) { addPod(object, cache, observation); }));
}

}  // namespace

Result<vendors::Catalog> catalogFor(const ClusterChoice& choice) {
  const Result<vendors::DeviceConfig> families = readDeviceConfigFile(choice.device_config);
  if (!families) return families.error();
  return scheduler::readCatalog(families->families, choice.vendors, choice.model_resources);
}

ClusterObservation observeCluster(KubeApi& api, const std::string& server,
                                  const vendors::Catalog& catalog, bool watch) {
  ClusterObservation observation;
  ClusterFacts& facts = observation.facts;
  facts.server = server;
  facts.now_ms = nowMs();
  const Result<json::value> version = api.call({kube::Verb::kGet, "/version"});
  if (!version) {
    facts.fault = version.error();
    return observation;
  }
  facts.version = doctor::versionOf(textAt(*version, {"major"}), textAt(*version, {"minor"}),
                                    textAt(*version, {"gitVersion"}));
  readInstalled(api, &facts);
  Result<std::vector<doctor::MappedClass>> mapped = mappedClasses(api);
  if (mapped) facts.mapped = std::move(*mapped);
  if (!mapped) facts.mapped_listed = mapped.error();
  readNodesAndPods(api, catalog, &observation);
  readLease(api, watch, &facts, &observation.lease);
  facts.installed = facts.installed || facts.lease.has_value();
  return observation;
}

}  // namespace divvy::cli
