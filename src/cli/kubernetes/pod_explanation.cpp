#include "kubernetes/pod_explanation.h"

#include <utility>

#include <boost/json/array.hpp>

#include "engine/engine.h"
#include "json/path.h"
#include "scheduler/pod_group.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr const char* kOwnScheduler = "divvy-scheduler";

std::string conditionOf(const json::value& pod, const char* type) {
  for (const json::value& one : listAt(pod, {"status", "conditions"}))
    if (textAt(one, {"type"}) == type && textAt(one, {"status"}) == "False" &&
        textAt(one, {"reason"}) != "SchedulingGated")
      return textAt(one, {"message"});
  return "";
}

bool refusesModels(const PodDecision& decision) {
  for (const scheduler::NodeVerdict& node : decision.nodes) {
    if (!node.refusal) continue;
    for (const engine::DeviceRefusal& device : node.refusal->devices)
      if (device.why == engine::DeviceWhy::kModelNotAsked ||
          device.why == engine::DeviceWhy::kModelExcluded)
        return true;
  }
  return false;
}

std::map<std::string, std::string> modelsAsked(const Cluster& cluster, const kube::Pod& pod) {
  std::map<std::string, std::string> asked;
  const auto annotation = [&](const std::string& key) {
    const auto found = pod.meta.annotations.find(key);
    if (found != pod.meta.annotations.end()) asked.insert(*found);
  };
  for (const char* key : {"use.divvy.dev/model", "use.divvy.dev/not-model"}) annotation(key);
  for (const vendors::Kind* kind : cluster.terms().catalog.kinds()) {
    for (const std::string* key : {&kind->models.use, &kind->models.not_use}) annotation(*key);
    for (const vendors::ModelResource& one : kind->of_models)
      for (const auto* list : {&pod.init, &pod.containers})
        for (const kube::PodContainer& container : *list)
          if (const auto found = container.limits.find(one.resource);
              found != container.limits.end())
            asked.insert(*found);
  }
  return asked;
}

json::value jsonOf(const scheduler::NodeVerdict& verdict) {
  json::object node{{"node", verdict.node}, {"fits", verdict.fits}};
  if (verdict.fits) return node;
  node["why"] = verdict.why;
  if (verdict.refusal) node["code"] = engine::codeOf(verdict.refusal->why);
  json::array devices;
  if (verdict.refusal)
    for (const engine::DeviceRefusal& one : verdict.refusal->devices)
      devices.push_back(json::object{{"uuid", one.uuid.text},
                                     {"why", engine::text(one)},
                                     {"code", engine::codeOf(one.why)},
                                     {"needed", one.needed},
                                     {"available", one.available}});
  node["devices"] = std::move(devices);
  json::array fixes;
  for (const engine::Remedy& one : verdict.remedies) fixes.push_back(engine::text(one).c_str());
  node["fixes"] = std::move(fixes);
  return node;
}

json::array sharesJson(const PodDecision& decision) {
  json::array all;
  if (!decision.placement) return all;
  const auto& containers = decision.placement->containers;
  for (std::size_t at = 0; at < containers.size(); ++at) {
    for (const engine::Share& one : containers[at]) {
      json::object share{
          {"container", at < decision.containers.size() ? decision.containers[at] : ""},
          {"uuid", one.uuid.text},
          {"memory", one.memory.count},
          {"compute_milli", one.compute.milli}};
      if (!one.part.empty()) share["part"] = one.part.text;
      all.push_back(std::move(share));
    }
  }
  return all;
}

}  // namespace

std::string conditionTextOf(const json::value& pod) {
  const std::string ours = conditionOf(pod, scheduler::kDevicesFit);
  return ours.empty() ? conditionOf(pod, "PodScheduled") : ours;
}

Result<PodExplanation> explainOne(Cluster& cluster, const DryPod& pod,
                                  const std::vector<DryPod>& all, const std::string& hazard) {
  PodExplanation explained;
  explained.gates = pod.pod.gates;
  explained.condition_text = conditionTextOf(pod.object);
  if (!pod.pod.node.empty()) {
    explained.bound = pod.pod.node;
    PodDecision& decision = explained.decision;
    decision.name = pod.pod.meta.namespace_name + '/' + pod.pod.meta.name;
    for (const auto* list : {&pod.pod.init, &pod.pod.containers})
      for (const kube::PodContainer& one : *list) decision.containers.push_back(one.name);
    const engine::Allocation* held =
        cluster.cache().pods().engine().find(engine::RequestId(pod.pod.meta.uid));
    decision.ours = held != nullptr;
    if (held != nullptr) decision.placement = held->placement;
    return explained;
  }
  Result<PodDecision> decision = decideFor(cluster, pod, all, true);
  if (!decision) return decision.error();
  explained.decision = std::move(*decision);
  if (refusesModels(explained.decision)) explained.models = modelsAsked(cluster, pod.pod);
  if (explained.decision.ours) explained.hazard = hazard;
  if (explained.decision.ours && pod.pod.scheduler != kOwnScheduler)
    explained.scheduler = pod.pod.scheduler;
  return explained;
}

json::object explanationJson(const PodExplanation& explained) {
  const PodDecision& decision = explained.decision;
  json::object pod{{"pod", decision.name},
                   {"asks_for_devices", decision.ours},
                   {"bound", !explained.bound.empty()},
                   {"fits", !explained.bound.empty() || decision.placement.has_value()}};
  if (!explained.bound.empty()) {
    pod["node"] = explained.bound;
  } else if (decision.placement) {
    pod["node"] = decision.placement->node.text;
  }
  pod["never_fits"] = neverFits(decision);
  pod["devices"] = sharesJson(decision);
  pod["told"] = explained.condition_text;
  if (!explained.models.empty()) {
    json::object models;
    for (const auto& [key, value] : explained.models) models[key] = value;
    pod["models_asked"] = std::move(models);
  }
  if (!explained.scheduler.empty()) pod["other_scheduler"] = explained.scheduler;
  if (!explained.idle.empty()) pod["idle"] = explained.idle;
  if (!explained.hazard.empty()) pod["device_class_hazard"] = explained.hazard;
  json::object reasons;
  for (const auto& [text, count] : decision.reasons) reasons[text] = count;
  pod["reasons"] = std::move(reasons);
  json::array nodes;
  for (const scheduler::NodeVerdict& one : decision.nodes) nodes.push_back(jsonOf(one));
  for (const auto& [node, why] : decision.filtered)
    nodes.push_back(
        json::object{{"node", node}, {"fits", false}, {"why", why}, {"said_by", "kube-scheduler"}});
  pod["nodes"] = std::move(nodes);
  json::array fixes;
  for (const scheduler::Suggestion& one : decision.fixes) {
    json::array changes;
    for (const engine::Change& change : one.remedy)
      changes.push_back(
          json::object{{"container", change.container}, {"from", change.from}, {"to", change.to}});
    fixes.push_back(json::object{{"change", engine::text(one.remedy, decision.containers)},
                                 {"node", one.node},
                                 {"nodes", one.nodes},
                                 {"changes", std::move(changes)}});
  }
  pod["fixes"] = std::move(fixes);
  json::array victims;
  for (const scheduler::Victim& one : decision.ends.who)
    victims.push_back((one.namespace_name + '/' + one.name).c_str());
  pod["would_fit_without"] = std::move(victims);
  if (!decision.gated.empty()) pod["gated"] = decision.gated;
  json::array gates;
  for (const std::string& gate : explained.gates) gates.push_back(json::value(gate));
  pod["gates"] = std::move(gates);
  return pod;
}

}  // namespace divvy::cli
