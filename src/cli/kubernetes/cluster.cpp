#include "kubernetes/cluster.h"

#include <utility>

#include <boost/json/serialize.hpp>

#include "base/rfc3339.h"
#include "config/device_config_file.h"
#include "config/placement_options.h"
#include "engine/engine.h"
#include "engine/policy.h"
#include "json/path.h"
#include "kube/budget.h"
#include "kube/queue.h"
#include "kube/resource_quota.h"
#include "scheduler/resource_catalog.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

std::string unscheduledOf(const json::value& object) {
  for (const json::value& one : listAt(object, {"status", "conditions"}))
    if (textAt(one, {"type"}) == "PodScheduled" && textAt(one, {"status"}) == "False")
      return textAt(one, {"message"});
  return "";
}

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

Cluster::Cluster(std::unique_ptr<KubeApi> api, vendors::Catalog catalog, engine::Config config,
                 std::vector<engine::Pool> pools, scheduler::SchedulingDryRun::Options terms)
    : api_(std::move(api)),
      catalog_(std::move(catalog)),
      config_(config),
      pools_(std::move(pools)),
      cache_(catalog_, config_),
      forecast_(catalog_, cache_, terms),
      filters_([this](const std::string& name) { return catalog_.owner(name) != nullptr; }) {}

Result<std::unique_ptr<Cluster>> Cluster::read(const ClusterChoice& choice) {
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
  const scheduler::SchedulingDryRun::Options terms{
      static_cast<std::int64_t>((choice.min_runtime_ms + 999) / 1000), std::time(nullptr)};
  std::unique_ptr<Cluster> cluster(
      new Cluster(std::move(*api), std::move(*catalog), *config, std::move(pools), terms));
  const Result<void> set = cluster->cache_.setPools(cluster->pools_);
  if (!set) return set.error();
  const Result<void> listed = cluster->listAll();
  if (!listed) return listed.error();
  return cluster;
}

Result<void> Cluster::listAll() {
  Result<void> listed =
      api_->list("/api/v1/nodes", "", [this](const json::value& object) { addNode(object); });
  if (!listed) return listed;
  listed = api_->list("/api/v1/pods", "", [this](const json::value& object) { addPod(object); });
  if (!listed) return listed;
  listed = api_->list("/api/v1/resourcequotas", "", [this](const json::value& object) {
    const Result<kube::ResourceQuota> quota = kube::resourceQuotaOf(object);
    const Result<void> set = quota ? cache_.setQuota(*quota) : Result<void>(quota.error());
    if (!set) note(set.error());
  });
  // Without them the rest is still reported.
  if (!listed) note(listed.error());
  return {};
}

void Cluster::readMore() {
  const Result<void> budgets =
      api_->list("/apis/policy/v1/poddisruptionbudgets", "", [this](const json::value& object) {
        Result<kube::DisruptionBudget> budget = kube::budgetOf(object);
        if (budget) forecast_.setBudget(std::move(*budget));
        if (!budget) note(budget.error());
      });
  if (!budgets) note(Error(budgets.error()).context("disruption budgets"));
  readQueues();
}

void Cluster::readQueues() {
  bool any = false;
  const Result<void> queues = api_->list(kube::kQueuesPath, "", [&](const json::value& object) {
    Result<kube::Queue> queue = kube::queueOf(object);
    any = true;
    if (queue) forecast_.setQueue(std::move(*queue));
    if (!queue) note(queue.error());
  });
  // A cluster without this kind of object has no queues.
  const bool absent = !queues && queues.error().code() == ErrorCode::kNotFound;
  if (!queues && !absent) {
    note(Error(queues.error()).context("queues"));
    forecast_.withoutQueues();
  }
  if (!any) return;
  const Result<void> namespaces =
      api_->list("/api/v1/namespaces", "", [this](const json::value& object) {
        const Result<kube::Meta> meta = kube::metaOf(object);
        if (meta) forecast_.setNamespace(*meta);
        if (!meta) note(meta.error());
      });
  if (namespaces) return;
  note(Error(namespaces.error()).context("default queues of namespaces"));
  forecast_.withoutNamespaces();
}

Result<std::uint32_t> Cluster::leastIn(const scheduler::MinMemberRef& in) {
  const auto written = groups_.find(in.path);
  if (written != groups_.end()) return scheduler::minMemberOf(written->second, in);
  const Result<json::value> object = api_->call(kube::Call{kube::Verb::kGet, in.path});
  if (!object) return object.error();
  return scheduler::minMemberOf(*object, in);
}

void Cluster::addNode(const json::value& object) {
  filters_.setNode(object);
  Result<kube::Node> node = kube::nodeOf(object);
  const Result<void> set = node ? cache_.setNode(*node) : Result<void>(node.error());
  if (!set) note(set.error());
}

void Cluster::addPod(const json::value& object) {
  Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) {
    unread_pods_.push_back(pod.error().message());
    return note(pod.error());
  }
  if (!pod->node.empty() && !pod->ended()) filters_.setPod(object, pod->node);
  const Result<void> set = cache_.setPod(*pod);
  if (!set) note(set.error());
  if (!set && !pod->ended()) unread_pods_.push_back(set.error().message());
  const Result<void> lodged =
      forecast_.setPod(*pod, textAt(object, {"metadata", "creationTimestamp"}));
  if (!lodged) note(lodged.error());
  const auto request = cache_.pods().requestFor(*pod);
  const bool holds = cache_.pods().engine().find(engine::RequestId(pod->meta.uid)) != nullptr;
  if (!holds && (pod->ended() || (request && !*request))) return;
  const std::string uid = pod->meta.uid;
  const std::string created = textAt(object, {"metadata", "creationTimestamp"});
  pods_[uid] = {std::move(*pod), rfc3339Ms(created, Rfc3339Form::kUtcSeconds),
                unscheduledOf(object)};
}

std::vector<std::string> Cluster::nodesFor(const json::value& pod,
                                           std::map<std::string, std::string>* why) const {
  std::vector<std::string> fitting;
  for (const std::string& node : filters_.nodes()) {
    std::string no = filters_.whyNot(pod, node);
    if (no.empty()) {
      fitting.push_back(node);
    } else {
      (*why)[node] = std::move(no);
    }
  }
  return fitting;
}

std::vector<std::string> Cluster::nodesToClear(const json::value& pod) const {
  std::vector<std::string> all = filters_.nodes();
  std::erase_if(all, [&](const std::string& node) {
    return !filters_.whyNot(pod, node, KubeFilters::FullNodes::kClearable).empty();
  });
  return all;
}

void Cluster::place(const json::value& object, const kube::Pod& pod, const std::string& node) {
  filters_.setPod(object, node);
  forecast_.place(pod, node);
  pods_[pod.meta.uid] = {pod, 0, ""};
}

void Cluster::unplace(const std::string& uid) {
  filters_.endPod(uid);
  cache_.unreserve(uid);
  forecast_.removePod(uid);
}

void Cluster::end(const std::string& uid) {
  filters_.endPod(uid);
  forecast_.removePod(uid);
  cache_.removePod(uid);
  pods_.erase(uid);
}

void Cluster::evict(const std::string& uid) {
  forecast_.evicted(uid);
  end(uid);
}

Result<DryPod> dryRun(KubeApi& api, json::object pod, const std::string& ns) {
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
