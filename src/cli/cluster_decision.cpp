#include "cluster_decision.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "engine/engine.h"

namespace divvy::cli {
namespace {

// Nothing expires while a command looks.
constexpr engine::Instant kNever{std::numeric_limits<std::int64_t>::max()};

std::vector<std::string> containersOf(const kube::Pod& pod) {
  std::vector<std::string> names;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list) names.push_back(one.name);
  return names;
}

Result<void> findVictims(const Cluster& cluster, const engine::Request& request,
                         const kube::Pod& pod, const std::vector<std::string>& nodes,
                         PodDecision* decision) {
  const Result<std::optional<engine::Preemption>> found =
      cluster.books().engine().preempt(request, pod.priority, cluster.stakes());
  // kUsage: somewhere it fits as it is, where kube-scheduler would not have it.
  if (!found && found.error().code() == ErrorCode::kUsage) return {};
  if (!found) return found.error();
  if (!*found || !std::binary_search(nodes.begin(), nodes.end(), (*found)->node.text)) return {};
  decision->victims_node = (*found)->node.text;
  for (const engine::RequestId& id : (*found)->victims) decision->victims.push_back(id.text);
  return {};
}

std::string percentText(engine::Compute compute) {
  const std::string whole = std::to_string(compute.milli / 10);
  return whole + (compute.milli % 10 == 0 ? "" : '.' + std::to_string(compute.milli % 10)) + '%';
}

}  // namespace

Result<PodDecision> decideFor(Cluster& cluster, const DryPod& pod, bool nodes) {
  PodDecision decision;
  decision.name = pod.pod.meta.space + '/' + pod.pod.meta.name;
  decision.containers = containersOf(pod.pod);
  const std::vector<std::string> asked = cluster.nodesFor(pod.object, &decision.filtered);
  const std::vector<std::string_view> names(asked.begin(), asked.end());
  const Result<std::optional<engine::Request>> request = cluster.books().requestFor(pod.pod);
  if (!request) return request.error();
  const Result<scheduler::Choice> choice = cluster.books().choose(pod.pod, names, kNever);
  if (!choice) return choice.error();
  decision.ours = choice->ours;
  if (!choice->ours || !*request) return decision;
  if (choice->node) {
    const engine::Allocation* held =
        cluster.books().engine().find(engine::RequestId(pod.pod.meta.uid));
    if (held == nullptr) return Error{ErrorCode::kInternal, "what was chosen is not booked"};
    decision.placement = held->placement;
    cluster.place(pod.object, pod.pod, *choice->node);
    return decision;
  }
  for (const scheduler::Reasons* reasons : {&choice->why, &choice->never})
    for (const auto& [node, why] : *reasons) ++decision.reasons[why.text()];
  for (const auto& [node, why] : decision.filtered) ++decision.reasons[why];
  if (nodes) {
    Result<std::vector<scheduler::NodeVerdict>> said =
        scheduler::inquire(cluster.books(), **request, asked);
    if (!said) return said.error();
    decision.nodes = std::move(*said);
    decision.fixes = scheduler::nearestFixes(decision.nodes);
  }
  const Result<void> victims = findVictims(cluster, **request, pod.pod, asked, &decision);
  if (!victims) return victims.error();
  return decision;
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
    all += (all.empty() ? "" : ", ") + std::to_string(count) + ' ' + text;
  return all.empty() ? "there are no nodes" : all;
}

std::string victimsText(const Cluster& cluster, const std::vector<std::string>& victims) {
  std::string text;
  for (std::size_t i = 0; i < victims.size(); ++i) {
    if (i > 0) text += i + 1 == victims.size() ? " and " : ", ";
    text += cluster.nameOf(victims[i]);
    const auto known = cluster.pods().find(victims[i]);
    if (known != cluster.pods().end())
      text += " (priority " + std::to_string(known->second.pod.priority) + ')';
  }
  return text;
}

}  // namespace divvy::cli
