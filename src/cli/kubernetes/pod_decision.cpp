#include "kubernetes/pod_decision.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.h"
#include "json/path.h"
#include "kubernetes/manifests.h"
#include "scheduler/pod_group.h"
#include "view/output.h"

namespace divvy::cli {
namespace {

std::vector<std::string> containersOf(const kube::Pod& pod) {
  std::vector<std::string> names;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list) names.push_back(one.name);
  return names;
}

std::string gangOf(const kube::Pod& pod) {
  const auto words = scheduler::gangOf(pod);
  return words && *words ? pod.meta.namespace_name + '/' + (*words)->name : "";
}

// All pods of a gang arrive together.
void arrive(Cluster& cluster, const kube::Pod& pod, const std::vector<DryPod>& all) {
  std::vector<kube::Pod> coming{pod};
  const std::string gang = gangOf(pod);
  for (const DryPod& other : all)
    if (!gang.empty() && other.pod.meta.uid != pod.meta.uid && gangOf(other.pod) == gang)
      coming.push_back(other.pod);
  cluster.forecast().arrive(coming,
                            [&](const scheduler::MinMemberRef& in) { return cluster.leastIn(in); });
}

Result<void> evaluateNodes(const Cluster& cluster, const engine::Request& request,
                           const std::vector<std::string>& asked, PodDecision* decision) {
  Result<std::vector<scheduler::NodeVerdict>> said =
      scheduler::explainNodes(cluster.cache(), request, asked, decision->containers);
  if (!said) return said.error();
  decision->nodes = std::move(*said);
  decision->fixes = scheduler::nearestFixes(decision->nodes);
  return {};
}

// A node has the devices free, and the pod does not fit there for another reason, such as a quota.
void addRefusals(std::initializer_list<const scheduler::Reasons*> refusals, PodDecision& decision) {
  std::map<std::string_view, std::string> texts;
  for (const scheduler::Reasons* one : refusals)
    for (const auto& [node, why] : *one) texts.try_emplace(node, why.text());
  for (scheduler::NodeVerdict& one : decision.nodes) {
    const auto refused = texts.find(one.node);
    if (!one.fits || refused == texts.end()) continue;
    one.fits = false;
    one.why = refused->second;
  }
}

std::string percentText(engine::Compute compute) {
  const std::string whole = std::to_string(compute.milli / 10);
  return whole + (compute.milli % 10 == 0 ? "" : '.' + std::to_string(compute.milli % 10)) + '%';
}

}  // namespace

Result<PodDecision> decideFor(Cluster& cluster, const DryPod& pod, const std::vector<DryPod>& all,
                              bool nodes) {
  PodDecision decision;
  decision.name = pod.pod.meta.namespace_name + '/' + pod.pod.meta.name;
  decision.containers = containersOf(pod.pod);
  const std::vector<std::string> asked = cluster.nodesFor(pod.object, &decision.filtered);
  const std::vector<std::string_view> names(asked.begin(), asked.end());
  const Result<std::optional<engine::Request>> request = cluster.cache().pods().requestFor(pod.pod);
  if (!request) return request.error();
  decision.ours = request->has_value();
  arrive(cluster, pod.pod, all);
  decision.gated = cluster.forecast().gated(pod.pod.meta.uid);
  if (!decision.gated.empty()) {
    cluster.forecast().leave(pod.pod.meta.uid);
    const Result<void> said =
        *request && nodes ? evaluateNodes(cluster, **request, asked, &decision) : Result<void>();
    if (!said) return said.error();
    return decision;
  }
  const Result<scheduler::FilterResult> choice = cluster.forecast().filter(pod.pod, names);
  if (!choice) return choice.error();
  if (!choice->ours || !*request) return decision;
  if (choice->node) {
    const engine::Allocation* held =
        cluster.cache().pods().engine().find(engine::RequestId(pod.pod.meta.uid));
    if (held == nullptr)
      return Error{ErrorCode::kInternal, "the chosen devices have no allocation"};
    decision.placement = held->placement;
    cluster.place(pod.object, pod.pod, *choice->node);
    return decision;
  }
  for (const scheduler::Reasons* reasons : {&choice->why, &choice->never})
    for (const auto& [node, why] : *reasons) ++decision.reasons[why.text()];
  for (const auto& [node, why] : decision.filtered) ++decision.reasons[why];
  const Result<void> said =
      nodes ? evaluateNodes(cluster, **request, asked, &decision) : Result<void>();
  if (!said) return said.error();
  addRefusals({&choice->why, &choice->never}, decision);
  Result<scheduler::Victims> ends =
      cluster.forecast().whoEnds(pod.pod, cluster.nodesToClear(pod.object));
  if (!ends) return ends.error();
  decision.ends = std::move(*ends);
  return decision;
}

void addGroups(Cluster& cluster, const std::vector<boost::json::value>& groups,
               const std::string& ns) {
  std::map<std::string, boost::json::value> by_path;
  for (const boost::json::value& group : groups) {
    const std::string written = textAt(group, {"metadata", "namespace"});
    const std::string where = !ns.empty()        ? ns
                              : !written.empty() ? written
                                                 : cluster.api().namespaceName();
    by_path[groupPathOf(group, where)] = group;
  }
  cluster.addGroups(std::move(by_path));
}

bool neverFits(const PodDecision& decision) {
  return !decision.nodes.empty() && decision.filtered.empty() &&
         std::all_of(decision.nodes.begin(), decision.nodes.end(),
                     [](const scheduler::NodeVerdict& one) {
                       return one.refusal && engine::isPermanent(*one.refusal);
                     });
}

std::vector<std::string> sharesText(const PodDecision& decision) {
  std::vector<std::string> lines;
  if (!decision.placement) return lines;
  const auto& containers = decision.placement->containers;
  for (std::size_t at = 0; at < containers.size(); ++at) {
    std::string line;
    for (const engine::Share& share : containers[at]) {
      line += (line.empty() ? "" : ", ") + share.uuid.text + " (" + formatBytes(share.memory);
      if (!share.part.empty()) line += ", part " + share.part.text;
      if (share.compute.milli > 0) line += ", " + percentText(share.compute);
      line += ')';
    }
    if (line.empty()) continue;
    const std::string name = at < decision.containers.size() ? decision.containers[at] : "?";
    lines.push_back("container " + name + ": " + line);
  }
  return lines;
}

std::string reasonsText(const PodDecision& decision) {
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [text, count] : decision.reasons) order.emplace_back(count, text);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string all;
  for (const auto& [count, text] : order)
    all += (all.empty() ? "" : ", ") + scheduler::onNodes(text, count);
  return all.empty() ? "there are no nodes" : all;
}

std::string victimsText(const std::vector<scheduler::Victim>& victims) {
  std::string text;
  for (std::size_t i = 0; i < victims.size(); ++i) {
    const scheduler::Victim& one = victims[i];
    if (i > 0) text += i + 1 == victims.size() ? " and " : ", ";
    text +=
        one.namespace_name + '/' + one.name + " (priority " + std::to_string(one.priority) + ')';
  }
  return text;
}

std::string protectedText(const scheduler::Victims& ends) {
  std::string text;
  const auto add = [&](std::size_t count, const char* one, const char* several) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? one : several);
  };
  add(ends.budgeted, " is protected by its disruption budget",
      " are protected by their disruption budgets");
  add(ends.young, " has not reached its minimum run time",
      " have not reached their minimum run time");
  add(ends.fixed, " is not evictable", " are not evictable");
  return text;
}

void printTroubles(const Cluster& cluster) {
  const std::vector<std::string>& all = cluster.troubles();
  for (std::size_t i = 0; i < all.size(); ++i)
    printNote("not counted (" + std::to_string(i + 1) + " of " + std::to_string(all.size()) +
              "): " + all[i]);
}

}  // namespace divvy::cli
