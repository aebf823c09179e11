#include "cluster_console/console_cluster.h"

#include <chrono>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "cluster_console/cluster_changes.h"
#include "json/path.h"
#include "kubernetes/device_classes.h"
#include "kubernetes/manifests.h"
#include "kubernetes/pod_explanation.h"
#include "kubernetes/pod_plan.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kReadBound{10};
constexpr std::chrono::seconds kAskBound{20};
constexpr unsigned kTries = 3;

Result<DryPod> readPod(KubeApi& api, const std::string& namespace_name, const std::string& name) {
  kube::Call call{kube::Verb::kGet, "/api/v1/namespaces/" + namespace_name + "/pods/" + name};
  Result<json::value> object = api.call(std::move(call));
  if (!object) return object.error();
  Result<kube::Pod> pod = kube::podOf(*object);
  if (!pod) return pod.error();
  return DryPod{std::move(*object), std::move(*pod)};
}

using Explanation = Result<std::optional<json::object>>;

// The state is afterwards as it was. None: the watch has another version of the pod.
Explanation explainIn(Cluster& cluster, const DryPod& pod, const std::string& hazard) {
  const std::string& uid = pod.pod.meta.uid;
  const auto known = cluster.pods().find(uid);
  const bool is_known = known != cluster.pods().end();
  if (is_known && known->second.pod.meta.version != pod.pod.meta.version)
    return std::optional<json::object>();
  cluster.forecast().setNow(std::time(nullptr));
  Result<PodExplanation> explained = explainOne(cluster, pod, {pod}, hazard);
  if (pod.pod.node.empty()) {
    cluster.forecast().leave(uid);
    if (is_known) {
      cluster.unplace(uid);
      const Result<void> restored = cluster.setPod(pod.object);
      (void)restored;  // an unreadable pod stays as it was
    } else {
      cluster.forget(uid);
    }
  }
  if (!explained) return explained.error();
  return std::optional(explanationJson(*explained));
}

Explanation explainOnce(KubeApi& api, ClusterWatch& watch, const std::string& namespace_name,
                        const std::string& name) {
  Result<DryPod> pod = readPod(api, namespace_name, name);
  if (!pod) return pod.error();
  DeviceClassHazards hazards(api);
  const std::string hazard = pod->pod.node.empty() ? hazards.of(pod->pod) : "";
  auto answer =
      std::make_shared<Explanation>(Error{ErrorCode::kInternal, "the question was not answered"});
  const Result<void> ran =
      watch.run([answer, pod = std::move(*pod),
                 hazard](Cluster& cluster) { *answer = explainIn(cluster, pod, hazard); },
                kAskBound);
  if (!ran) return ran.error();
  return std::move(*answer);
}

}  // namespace

ConsoleCluster::ConsoleCluster(ClusterChoice choice, std::unique_ptr<ClusterWatch> watch,
                               bool with_agents)
    : choice_(std::move(choice)), watch_(std::move(watch)) {
  if (with_agents)
    scraper_.emplace(choice_.connection, [this] { return watch_->agents(kReadBound); });
}

console::ClusterReading ConsoleCluster::read() {
  Result<console::ClusterReading> reading = watch_->read(kReadBound);
  if (reading && scraper_) scraper_->addTo(&*reading);
  if (reading) return std::move(*reading);
  // The rows of the reading before stay.
  console::ClusterReading failed;
  console::ClusterCollection& state = failed.collections.emplace_back();
  state.name = "console";
  state.failure = reading.error().message();
  return failed;
}

Result<json::object> ConsoleCluster::explain(const std::string& namespace_name,
                                             const std::string& name) {
  if (!isObjectName(namespace_name) || !isObjectName(name))
    return Error{ErrorCode::kNotFound, "there is no pod of that name"};
  // A slow API server delays this question only, and not the watches.
  Result<std::unique_ptr<KubeApi>> api = KubeApi::open(choice_.connection);
  if (!api) return api.error();
  for (unsigned tries = 0; tries < kTries; ++tries) {
    Explanation answer = explainOnce(**api, *watch_, namespace_name, name);
    if (!answer) return answer.error();
    if (*answer) return std::move(**answer);
  }
  return Error{ErrorCode::kUnavailable,
               "pod " + namespace_name + '/' + name + " changes at this moment; ask again"};
}

// Victims of a plan stay evicted, so it needs a cluster of its own.
Result<json::array> ConsoleCluster::plan(const std::string& manifest,
                                         const std::string& namespace_name,
                                         const std::string& token) {
  Result<Manifests> manifests = podsOf(manifest, "manifest");
  if (!manifests) return manifests.error();
  if (manifests->pods.empty())
    return Error{ErrorCode::kUsage, "no pod and no workload in the manifest"};
  ClusterChoice choice = choice_;
  choice.connection.viewer_token = token;
  Result<std::unique_ptr<Cluster>> cluster = Cluster::read(choice);
  if (!cluster) return cluster.error();
  (*cluster)->readMore();
  const Result<std::vector<PodPlan>> plans =
      planManifests(**cluster, std::move(*manifests), namespace_name);
  if (!plans) return plans.error();
  json::array list;
  for (const PodPlan& planned : *plans) list.push_back(planJson(planned));
  return list;
}

Result<console::ClusterChangeOutcome> ConsoleCluster::change(const console::ClusterChange& change) {
  return changeCluster(choice_.connection, *watch_, change);
}

}  // namespace divvy::cli
