#include "kubernetes/cluster_state.h"

#include <utility>

#include "base/rfc3339.h"
#include "engine/engine.h"
#include "json/path.h"
#include "kube/budget.h"
#include "kube/queue.h"
#include "kube/resource_quota.h"
#include "kubernetes/pod_facts.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

std::string unscheduledOf(const json::value& object) {
  for (const json::value& one : listAt(object, {"status", "conditions"}))
    if (textAt(one, {"type"}) == "PodScheduled" && textAt(one, {"status"}) == "False")
      return textAt(one, {"message"});
  return "";
}

ClusterPod clusterPodOf(const json::value& object, kube::Pod pod) {
  const ServedModel model = servedModelOf(object);
  return {.pod = std::move(pod),
          .since_ms = rfc3339Ms(textAt(object, {"metadata", "creationTimestamp"}),
                                Rfc3339Form::kUtcSeconds),
          .unscheduled = unscheduledOf(object),
          .owner = ownerOf(object),
          .served_model = model.name,
          .model_source = model.source,
          .images = imagesOf(object)};
}

}  // namespace

ClusterState::ClusterState(ClusterTerms terms)
    : terms_(std::move(terms)),
      cache_(terms_.catalog, terms_.config),
      forecast_(terms_.catalog, cache_, terms_.dry_run),
      filters_([this](const std::string& name) { return terms_.catalog.owner(name) != nullptr; }) {}

Result<void> ClusterState::setNode(const json::value& object) {
  filters_.setNode(object);
  const Result<kube::Node> node = kube::nodeOf(object);
  return node ? cache_.setNode(*node) : Result<void>(node.error());
}

void ClusterState::removeNode(const std::string& uid, const std::string& name) {
  filters_.removeNode(name);
  cache_.removeNode(uid, name);
}

Result<void> ClusterState::setPod(const json::value& object) {
  Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) return pod.error();
  const std::string uid = pod->meta.uid;
  if (pod->node.empty() || pod->ended()) {
    filters_.endPod(uid);
  } else {
    filters_.setPod(object, pod->node);
  }
  const Result<void> set = cache_.setPod(*pod);
  const Result<void> forecast =
      forecast_.setPod(*pod, textAt(object, {"metadata", "creationTimestamp"}));
  const auto request = cache_.pods().requestFor(*pod);
  const bool holds = cache_.pods().engine().find(engine::RequestId(uid)) != nullptr;
  if (!holds && (pod->ended() || (request && !*request))) {
    pods_.erase(uid);
  } else {
    pods_.insert_or_assign(uid, clusterPodOf(object, std::move(*pod)));
  }
  return set ? forecast : set;
}

Result<void> ClusterState::setQuota(const json::value& object) {
  const Result<kube::ResourceQuota> quota = kube::resourceQuotaOf(object);
  return quota ? cache_.setQuota(*quota) : Result<void>(quota.error());
}

Result<void> ClusterState::setBudget(const json::value& object) {
  Result<kube::DisruptionBudget> budget = kube::budgetOf(object);
  if (!budget) return budget.error();
  forecast_.setBudget(std::move(*budget));
  return {};
}

Result<void> ClusterState::setQueue(const json::value& object) {
  Result<kube::Queue> queue = kube::queueOf(object);
  if (!queue) return queue.error();
  forecast_.setQueue(std::move(*queue));
  return {};
}

Result<void> ClusterState::setNamespace(const json::value& object) {
  const Result<kube::Meta> meta = kube::metaOf(object);
  if (!meta) return meta.error();
  forecast_.setNamespace(*meta);
  return {};
}

std::vector<std::string> ClusterState::nodesFor(const json::value& pod,
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

std::vector<std::string> ClusterState::nodesToClear(const json::value& pod) const {
  std::vector<std::string> all = filters_.nodes();
  std::erase_if(all, [&](const std::string& node) {
    return !filters_.whyNot(pod, node, KubeFilters::FullNodes::kClearable).empty();
  });
  return all;
}

void ClusterState::place(const json::value& object, const kube::Pod& pod, const std::string& node) {
  filters_.setPod(object, node);
  forecast_.place(pod, node);
  pods_[pod.meta.uid] = clusterPodOf(object, pod);
}

void ClusterState::unplace(const std::string& uid) {
  filters_.endPod(uid);
  cache_.unreserve(uid);
  forecast_.removePod(uid);
}

void ClusterState::forget(const std::string& uid) {
  unplace(uid);
  pods_.erase(uid);
}

void ClusterState::end(const std::string& uid) {
  filters_.endPod(uid);
  forecast_.removePod(uid);
  cache_.removePod(uid);
  pods_.erase(uid);
}

void ClusterState::evict(const std::string& uid) {
  forecast_.evicted(uid);
  end(uid);
}

}  // namespace divvy::cli
