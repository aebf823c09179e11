#include "scheduler/explain.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cache/refusal_texts.h"
#include "engine/engine.h"

namespace divvy::scheduler {
namespace {

using engine::Change;
using engine::Remedy;

// The part of the requested amounts that is given up; all, where there is no amount.
double distanceOf(const Remedy& remedy) {
  double distance = 0;
  for (const Change& one : remedy) {
    const auto from = static_cast<double>(one.from);
    distance += from == 0 ? 1 : (from - static_cast<double>(one.to)) / from;
  }
  return distance;
}

std::vector<std::tuple<engine::ChangeKind, std::size_t, engine::DeviceKind>> kindOf(
    const Remedy& remedy) {
  std::vector<std::tuple<engine::ChangeKind, std::size_t, engine::DeviceKind>> kind;
  for (const Change& one : remedy) kind.emplace_back(one.kind, one.container, one.of);
  return kind;
}

// The author of a pod cannot take back an exclusion that the pod does not state.
bool liftsOurs(const SchedulerCache& cache, const Remedy& remedy) {
  return std::any_of(remedy.begin(), remedy.end(), [&](const Change& change) {
    return change.kind == engine::ChangeKind::kNotModels &&
           std::any_of(change.names.begin(), change.names.end(),
                       [&](const std::string& name) { return cache.nodes().excludesItself(name); });
  });
}

}  // namespace

Result<std::vector<NodeVerdict>> explainNodes(const SchedulerCache& cache,
                                              const engine::Request& request,
                                              std::span<const std::string> nodes,
                                              const std::vector<std::string>& containers) {
  const engine::Engine& engine = cache.pods().engine();
  Result<engine::Decision> all = engine.explain(request);
  if (!all) return all.error();
  std::unordered_map<std::string, engine::NodeRefusal> refusals;
  for (engine::NodeRefusal& one : all->refusals) refusals.emplace(one.node.text, std::move(one));
  std::vector<NodeVerdict> verdicts;
  for (const std::string& name : nodes) {
    NodeVerdict verdict{name, false, cache.nodes().faultOf(name), {}, {}};
    const auto refused = refusals.find(name);
    if (refused != refusals.end()) {
      if (verdict.why.empty()) verdict.why = engine::text(refused->second, containers);
      verdict.refusal = std::move(refused->second);
      Result<std::vector<Remedy>> remedies = engine.remedies(request, engine::NodeName(name));
      if (!remedies) return remedies.error();
      std::erase_if(*remedies, [&](const Remedy& one) { return liftsOurs(cache, one); });
      verdict.remedies = std::move(*remedies);
    } else if (cache.nodes().nodeNamed(name) != nullptr) {
      verdict.fits = true;
      verdict.why.clear();
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<Suggestion> nearestFixes(const std::vector<NodeVerdict>& nodes) {
  std::map<decltype(kindOf({})), Suggestion> nearest;
  for (const NodeVerdict& verdict : nodes) {
    for (const Remedy& remedy : verdict.remedies) {
      Suggestion& best = nearest[kindOf(remedy)];
      const bool nearer = best.nodes == 0 || distanceOf(remedy) < distanceOf(best.remedy);
      if (nearer) best = {remedy, verdict.node, 0};
      if (remedy == best.remedy) ++best.nodes;
    }
  }
  std::vector<Suggestion> fixes;
  for (auto& [kind, fix] : nearest) fixes.push_back(std::move(fix));
  std::stable_sort(fixes.begin(), fixes.end(), [](const Suggestion& a, const Suggestion& b) {
    return distanceOf(a.remedy) < distanceOf(b.remedy);
  });
  return fixes;
}

std::string onNodes(const std::string& reason, std::size_t count) {
  return reason + " on " + std::to_string(count) + (count == 1 ? " node" : " nodes");
}

bool namesQuota(std::string_view reason) {
  // Texts of ResourceQuotaTracker and QueueTree.
  return reason.find("exceeding resource quota ") != std::string_view::npos ||
         reason.find(" left of the limit of queue ") != std::string_view::npos ||
         reason.find(" left of the guarantee of queue ") != std::string_view::npos;
}

Result<std::string> summary(const SchedulerCache& cache, const engine::Request& request,
                            const std::vector<std::string>& containers, std::size_t most) {
  const Result<std::vector<engine::CompactRefusal>> briefs =
      cache.pods().engine().compactRefusals(request);
  if (!briefs) return briefs.error();
  RefusalTextCache texts(containers, request.shape);
  std::map<std::string, std::size_t> counts;
  for (const engine::CompactRefusal& one : *briefs) ++counts[texts.reasonOf(one).text()];
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [text, count] : counts) order.emplace_back(count, text);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const std::size_t all = cache.pods().engine().nodes().size();
  std::string said = std::to_string(all - briefs->size()) + " of " + std::to_string(all) +
                     (all == 1 ? " node fits" : " nodes fit");
  std::size_t rest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i >= most) {
      rest += order[i].first;
      continue;
    }
    said += (i == 0 ? ": " : ", ") + onNodes(order[i].second, order[i].first);
  }
  if (rest > 0) said += ", " + onNodes("other reasons", rest);
  // A quota, or a rule of kube-scheduler itself.
  if (briefs->size() < all) said += "; see condition PodScheduled for the others";
  return said;
}

}  // namespace divvy::scheduler
