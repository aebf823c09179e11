#include "kubernetes/cluster.h"

#include <ctime>
#include <utility>

#include <boost/json/serialize.hpp>

#include "config/device_config_file.h"
#include "config/placement_options.h"
#include "engine/policy.h"
#include "json/path.h"
#include "kube/queue.h"
#include "scheduler/resource_catalog.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

Result<engine::Config> configOf(const ClusterChoice& choice) {
  engine::Config config;
  if (!choice.node_policy.empty()) {
    const Result<engine::Policy> policy = engine::parsePolicy(choice.node_policy);
    if (!policy) return Error(policy.error()).context("--node-policy");
    config.policy = *policy;
  }
  if (!choice.device_policy.empty()) {
    const Result<engine::DevicePolicy> devices = engine::parseDevicePolicy(choice.device_policy);
    if (!devices) return Error(devices.error()).context("--device-policy");
    config.devices = *devices;
  }
  if (choice.hami_scores) config.compat = engine::Compat::kHami;
  return config;
}

}  // namespace

Cluster::Cluster(std::unique_ptr<KubeApi> api, ClusterTerms terms)
    : ClusterState(std::move(terms)), api_(std::move(api)) {}

Result<std::unique_ptr<Cluster>> Cluster::open(const ClusterChoice& choice) {
  const Result<vendors::DeviceConfig> families = readDeviceConfigFile(choice.device_config);
  if (!families) return families.error();
  Result<vendors::Catalog> catalog =
      scheduler::readCatalog(families->families, choice.vendors, choice.model_resources);
  if (!catalog) return catalog.error();
  const Result<engine::Config> config = configOf(choice);
  if (!config) return config.error();
  std::vector<engine::Pool> pools;
  if (!choice.pools.empty()) {
    Result<std::vector<engine::Pool>> read = readPools(choice.pools);
    if (!read) return read.error();
    pools = std::move(*read);
  }
  Result<std::unique_ptr<KubeApi>> api = KubeApi::open(choice.connection);
  if (!api) return api.error();
  const scheduler::SchedulingDryRun::Options dry_run{
      static_cast<std::int64_t>((choice.min_runtime_ms + 999) / 1000), std::time(nullptr)};
  std::unique_ptr<Cluster> cluster(new Cluster(
      std::move(*api), ClusterTerms{std::move(*catalog), *config, std::move(pools), dry_run}));
  const Result<void> set = cluster->cache().setPools(cluster->terms().pools);
  if (!set) return set.error();
  return cluster;
}

Result<std::unique_ptr<Cluster>> Cluster::read(const ClusterChoice& choice) {
  Result<std::unique_ptr<Cluster>> cluster = open(choice);
  if (!cluster) return cluster;
  const Result<void> listed = (*cluster)->listAll();
  if (!listed) return listed.error();
  return cluster;
}

void Cluster::note(const Result<void>& result) {
  if (!result) troubles_.push_back(result.error().message());
}

void Cluster::addPod(const json::value& object) {
  const Result<void> set = setPod(object);
  note(set);
  const std::string phase = textAt(object, {"status", "phase"});
  if (!set && phase != "Succeeded" && phase != "Failed")
    unread_pods_.push_back(set.error().message());
}

Result<void> Cluster::listAll() {
  Result<void> listed =
      api_->list("/api/v1/nodes", "", [this](const json::value& object) { note(setNode(object)); });
  if (!listed) return listed;
  listed = api_->list("/api/v1/pods", "", [this](const json::value& object) { addPod(object); });
  if (!listed) return listed;
  // Without them the rest is still reported.
  note(api_->list("/api/v1/resourcequotas", "",
                  [this](const json::value& object) { note(setQuota(object)); }));
  return {};
}

void Cluster::readMore() {
  const Result<void> budgets =
      api_->list("/apis/policy/v1/poddisruptionbudgets", "",
                 [this](const json::value& object) { note(setBudget(object)); });
  if (!budgets) note(Error(budgets.error()).context("disruption budgets"));
  readQueues();
}

void Cluster::readQueues() {
  bool any = false;
  const Result<void> queues = api_->list(kube::kQueuesPath, "", [&](const json::value& object) {
    any = true;
    note(setQueue(object));
  });
  // A cluster without this kind of object has no queues.
  const bool absent = !queues && queues.error().code() == ErrorCode::kNotFound;
  if (!queues && !absent) {
    note(Error(queues.error()).context("queues"));
    forecast().withoutQueues();
  }
  if (!any) return;
  const Result<void> namespaces = api_->list(
      "/api/v1/namespaces", "", [this](const json::value& object) { note(setNamespace(object)); });
  if (namespaces) return;
  note(Error(namespaces.error()).context("default queues of namespaces"));
  forecast().withoutNamespaces();
}

Result<std::uint32_t> Cluster::leastIn(const scheduler::MinMemberRef& in) {
  const auto written = groups_.find(in.path);
  if (written != groups_.end()) return scheduler::minMemberOf(written->second, in);
  const Result<json::value> object = api_->call(kube::Call{kube::Verb::kGet, in.path});
  if (!object) return object.error();
  return scheduler::minMemberOf(*object, in);
}

Result<DryPod> dryRun(KubeApi& api, json::object pod, const std::string& ns) {
  // Another path might have an effect.
  if (!isObjectName(ns))
    return Error{ErrorCode::kUsage, "namespace \"" + ns + "\": it is no name of a namespace"};
  kube::Call call{kube::Verb::kPost, "/api/v1/namespaces/" + ns + "/pods?dryRun=All"};
  json::object meta = objectAt(pod, {"metadata"});
  meta["namespace"] = ns;
  // A pod of that name may exist already.
  const std::string name = textAt(pod, {"metadata", "name"});
  meta.erase("name");
  meta["generateName"] = name + '-';
  pod["metadata"] = std::move(meta);
  call.body = json::serialize(pod);
  Result<json::value> made = api.call(std::move(call));
  if (!made)
    return Error{made.error().code(), "the API server refuses the pod: " + made.error().message()};
  Result<kube::Pod> read = kube::podOf(*made);
  if (!read) return read.error();
  read->meta.name = name;
  return DryPod{std::move(*made), std::move(*read)};
}

}  // namespace divvy::cli
