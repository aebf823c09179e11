#include "cluster.h"

#include <ctime>
#include <utility>

#include <boost/json/serialize.hpp>

#include "engine/engine.h"
#include "engine/policy.h"
#include "kube/resource_quota.h"
#include "object.h"
#include "placing_terms.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

// "2026-01-01T00:00:00Z"; 0: something else.
std::int64_t msOf(const std::string& time) {
  std::tm utc{};
  const char* end = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return end == nullptr || *end != '\0' ? 0 : std::int64_t{::timegm(&utc)} * 1000;
}

std::string unscheduledOf(const json::value& object) {
  for (const json::value& one : listOf(object, {"status", "conditions"}))
    if (textOf(one, {"type"}) == "PodScheduled" && textOf(one, {"status"}) == "False")
      return textOf(one, {"message"});
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

Cluster::Cluster(std::unique_ptr<Api> api, vendors::Catalog catalog, engine::Config config,
                 std::vector<engine::Pool> pools)
    : api_(std::move(api)),
      catalog_(std::move(catalog)),
      config_(config),
      pools_(std::move(pools)),
      books_(catalog_, config_),
      filters_([this](const std::string& name) { return catalog_.owner(name) != nullptr; }) {}

Result<std::unique_ptr<Cluster>> Cluster::read(const ClusterChoice& choice) {
  Result<std::vector<vendors::Descriptor>> ours = vendors::only(vendors::builtIn(), choice.vendors);
  if (!ours) return ours.error();
  Result<vendors::Catalog> catalog = vendors::Catalog::of(std::move(*ours));
  if (!catalog) return catalog.error();
  const Result<engine::Config> config = configOf(choice);
  if (!config) return config.error();
  std::vector<engine::Pool> pools;
  if (!choice.pools.empty()) {
    Result<std::vector<engine::Pool>> read = readPools(choice.pools);
    if (!read) return read.error();
    pools = std::move(*read);
  }
  Result<kube::Access> access = accessFor(choice.kubeconfig, choice.context);
  if (!access) return access.error();
  Result<std::unique_ptr<Api>> api = Api::open(std::move(*access));
  if (!api) return api.error();
  std::unique_ptr<Cluster> cluster(
      new Cluster(std::move(*api), std::move(*catalog), *config, std::move(pools)));
  const Result<void> set = cluster->books_.setPools(cluster->pools_);
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
    const Result<void> set = quota ? books_.setQuota(*quota) : Result<void>(quota.error());
    if (!set) note(set.error());
  });
  // What may be known without them is told.
  if (!listed) note(listed.error());
  return {};
}

void Cluster::addNode(const json::value& object) {
  filters_.setNode(object);
  Result<kube::Node> node = kube::nodeOf(object);
  const Result<void> set = node ? books_.setNode(*node) : Result<void>(node.error());
  if (!set) note(set.error());
}

void Cluster::addPod(const json::value& object) {
  Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) return note(pod.error());
  if (!pod->node.empty() && !pod->ended()) filters_.setPod(object, pod->node);
  const Result<void> set = books_.setPod(*pod);
  if (!set) note(set.error());
  const auto request = books_.requestFor(*pod);
  const bool holds = books_.engine().find(engine::RequestId(pod->meta.uid)) != nullptr;
  if (!holds && (pod->ended() || (request && !*request))) return;
  const std::string uid = pod->meta.uid;
  pods_[uid] = {std::move(*pod), msOf(textOf(object, {"metadata", "creationTimestamp"})),
                unscheduledOf(object)};
}

std::string Cluster::nameOf(const std::string& uid) const {
  const auto known = pods_.find(uid);
  return known == pods_.end() ? uid
                              : known->second.pod.meta.space + '/' + known->second.pod.meta.name;
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

engine::Stakes Cluster::stakes() const {
  engine::Stakes stakes;
  for (const auto& [uid, one] : pods_)
    if (books_.engine().find(engine::RequestId(uid)) != nullptr)
      stakes.of[engine::RequestId(uid)].priority = one.pod.priority;
  return stakes;
}

void Cluster::place(const json::value& object, const kube::Pod& pod, const std::string& node) {
  filters_.setPod(object, node);
  pods_[pod.meta.uid] = {pod, 0, ""};
}

void Cluster::end(const std::string& uid) {
  filters_.endPod(uid);
  books_.removePod(uid);
  pods_.erase(uid);
}

Result<DryPod> dryRun(Api& api, json::object pod, const std::string& space) {
  kube::Call call{kube::Verb::kPost, "/api/v1/namespaces/" + space + "/pods?dryRun=All"};
  json::object meta = objectOf(json::value(pod), {"metadata"});
  meta["namespace"] = space;
  // One of that name may be there already.
  const std::string name = textOf(json::value(pod), {"metadata", "name"});
  meta.erase("name");
  meta["generateName"] = name + '-';
  pod["metadata"] = std::move(meta);
  call.body = json::serialize(pod);
  Result<json::value> made = api.ask(std::move(call));
  if (!made) return Error{made.error().code(), "it would not be made: " + made.error().message()};
  Result<kube::Pod> read = kube::podOf(*made);
  if (!read) return read.error();
  read->meta.name = name;
  return DryPod{std::move(*made), std::move(*read)};
}

}  // namespace divvy::cli
