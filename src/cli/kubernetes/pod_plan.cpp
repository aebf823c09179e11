#include "kubernetes/pod_plan.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace divvy::cli {
namespace {

namespace json = boost::json;

// A pod of a manifest, as the API server would create it.
struct CreatedPod {
  std::string name, namespace_name;
  std::size_t at = 0;   // index among the created pods
  std::string refused;  // the API server would refuse it
  std::string idle;     // why it does not exist now: it takes nothing
};

// The victims stay evicted for the following pods.
Result<void> preempt(Cluster& cluster, const DryPod& pod, const std::vector<DryPod>& all,
                     PodPlan* planned) {
  const scheduler::Victims ends = planned->decision.ends;
  if (planned->decision.placement || ends.node.empty()) return {};
  planned->ended_text =
      ends.who.empty() ? "pods that are terminating on " + ends.node : victimsText(ends.who);
  for (const scheduler::Victim& one : ends.who)
    planned->ended.push_back(one.namespace_name + '/' + one.name);
  for (const scheduler::Victim& one : ends.going) cluster.end(one.uid);
  for (const scheduler::Victim& one : ends.who) cluster.evict(one.uid);
  Result<PodDecision> again = decideFor(cluster, pod, all, false);
  if (!again) return again.error();
  planned->decision = std::move(*again);
  return {};
}

// All pods are created before the first is placed, because a gang needs all of them.
Result<std::vector<CreatedPod>> makeAll(Cluster& cluster, std::vector<ManifestPod> wanted,
                                        const std::string& namespace_name,
                                        std::vector<DryPod>* made) {
  std::vector<CreatedPod> all;
  for (ManifestPod& one : wanted) {
    CreatedPod created;
    created.name = one.name;
    created.namespace_name = !namespace_name.empty()       ? namespace_name
                             : !one.namespace_name.empty() ? one.namespace_name
                                                           : cluster.api().namespaceName();
    created.idle = std::move(one.idle);
    if (!created.idle.empty()) {
      all.push_back(std::move(created));
      continue;
    }
    Result<DryPod> pod = dryRun(cluster.api(), std::move(one.object), created.namespace_name);
    if (!pod && pod.error().code() == ErrorCode::kUnavailable)
      return Error(pod.error()).context(created.name);
    created.at = made->size();
    if (pod) made->push_back(std::move(*pod));
    if (!pod) created.refused = pod.error().message();
    all.push_back(std::move(created));
  }
  return all;
}

Result<PodPlan> planOne(Cluster& cluster, const CreatedPod& created,
                        const std::vector<DryPod>& made) {
  PodPlan planned;
  planned.decision.name = created.namespace_name + '/' + created.name;
  planned.refused = created.refused;
  planned.idle = created.idle;
  if (!planned.refused.empty() || !planned.idle.empty()) return planned;
  const DryPod& pod = made[created.at];
  Result<PodDecision> decision = decideFor(cluster, pod, made, false);
  if (!decision && decision.error().code() == ErrorCode::kUsage) {
    planned.refused = decision.error().message();
    return planned;
  }
  if (!decision) return decision.error();
  planned.decision = std::move(*decision);
  const Result<void> room = preempt(cluster, pod, made, &planned);
  if (!room) return room.error();
  return planned;
}

}  // namespace

Result<std::vector<PodPlan>> planManifests(Cluster& cluster, Manifests manifests,
                                           const std::string& namespace_name) {
  addGroups(cluster, manifests.groups, namespace_name);
  std::vector<DryPod> made;
  const Result<std::vector<CreatedPod>> created =
      makeAll(cluster, std::move(manifests.pods), namespace_name, &made);
  if (!created) return created.error();
  std::vector<PodPlan> plans;
  for (const CreatedPod& one : *created) {
    Result<PodPlan> planned = planOne(cluster, one, made);
    if (!planned) return Error(planned.error()).context(one.name);
    plans.push_back(std::move(*planned));
  }
  return plans;
}

bool works(const PodPlan& planned) {
  return !planned.idle.empty() || (planned.refused.empty() && planned.decision.gated.empty() &&
                                   (!planned.decision.ours || planned.decision.placement));
}

std::string noteOf(const PodPlan& planned) {
  if (!planned.idle.empty()) return "requests no pods now: " + planned.idle;
  if (!planned.refused.empty()) return planned.refused;
  if (!planned.decision.gated.empty()) return "gated: " + planned.decision.gated;
  if (!planned.decision.ours) return "requests no devices that Divvy places";
  if (!planned.decision.placement) {
    const std::string stay = protectedText(planned.decision.ends);
    return reasonsText(planned.decision) +
           (stay.empty() ? "" : "; cannot preempt: of the pods of lower priority " + stay);
  }
  std::string note;
  for (const std::string& line : sharesText(planned.decision))
    note += (note.empty() ? "" : "; ") + line;
  if (!planned.ended_text.empty()) note += "; once " + planned.ended_text + " ended";
  return note;
}

json::value planJson(const PodPlan& planned) {
  const PodDecision& decision = planned.decision;
  json::object pod{{"pod", decision.name}, {"fits", works(planned)}};
  if (decision.placement) {
    pod["node"] = decision.placement->node.text;
    json::array devices;
    for (const auto& container : decision.placement->containers)
      for (const engine::Share& one : container) devices.push_back(one.uuid.text.c_str());
    pod["devices"] = std::move(devices);
  }
  json::array ended;
  for (const std::string& name : planned.ended) ended.push_back(name.c_str());
  pod["ended"] = std::move(ended);
  if (!works(planned)) pod["why"] = noteOf(planned);
  if (!planned.idle.empty()) pod["idle"] = planned.idle;
  return pod;
}

}  // namespace divvy::cli
