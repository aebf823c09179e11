#include "cache/pod_filter.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "annotations/share_annotations.h"
#include "codec/pod_request.h"

namespace divvy::scheduler {
namespace {

ContainerList containersOf(const kube::Pod& pod) {
  ContainerList list;
  for (const auto* containers : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *containers) list.containers.push_back(one.name);
  // A pod with unreadable annotations has been refused before.
  if (const Result<ShareAnnotations> share = ShareAnnotations::of(pod))
    list.for_agents = share->forAgents();
  for (const kube::PodContainer& one : pod.init) list.ends.push_back(!one.sidecar);
  return list;
}

// Scores nodes that fit from 10 for the best down to 1 for the worst, by how many are better; the
// others stay 0.
std::vector<unsigned> spread(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMax = 10;
  std::set<std::uint32_t> ordered(ranks.begin(), ranks.end());
  ordered.erase(0);
  const std::vector<std::uint32_t> distinct(ordered.begin(), ordered.end());
  std::vector<unsigned> scores;
  scores.reserve(ranks.size());
  for (const std::uint32_t rank : ranks) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), rank) - distinct.begin();
    const auto better = distinct.size() - static_cast<std::size_t>(at) - 1;
    scores.push_back(rank == 0 ? 0
                               : static_cast<unsigned>(
                                     kMax - better * (kMax - 1) /
                                                std::max<std::size_t>(distinct.size() - 1, 1)));
  }
  return scores;
}

}  // namespace

Result<std::optional<engine::Request>> PodFilter::begin(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  Result<std::optional<engine::Request>> request =
      requestOf(pod, state_.catalog, state_.config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  if (!*request) {
    state_.passed.add(uid);
    return request;
  }
  if (state_.removed.has(uid)) return Error{ErrorCode::kNotFound, "the pod is gone"};
  if (!mayBeFiltered(state_.pods.stateOf(uid)))
    return Error{ErrorCode::kUnavailable, "the pod is bound to a node, or about to be"};
  state_.release(uid);
  PodDetails& details = state_.pods.details(uid);
  details.containers = std::make_unique<ContainerList>(containersOf(pod));
  details.pod = PodRef{pod.meta.namespace_name, pod.meta.name};
  return request;
}

Result<void> PodFilter::reserve(const engine::Request& request, const engine::Placement& placement,
                                engine::Instant expires) {
  const engine::Allocation reserved{request.id, placement, expires};
  return state_.pods.transit(
      request.id.text,
      {.to = PodState::kReserved,
       .allocation = &reserved,
       .request = &request,
       .charge = QuotaCharge{request.user.text, state_.amountsOf(placement, nullptr)}});
}

FilterResult PodFilter::refuse(const kube::Pod& pod, engine::Request request, FilterResult choice) {
  state_.unschedulable.enter(pod, std::move(request));
  state_.pods.restoreNomination(pod.meta.uid);
  return choice;
}

Result<FilterResult> PodFilter::filterAndReserve(const kube::Pod& pod,
                                                 std::span<const std::string_view> nodes,
                                                 engine::Instant expires) {
  FilterResult choice;
  const engine::Engine::BudgetScope scope(state_.engine);
  Result<std::optional<engine::Request>> request = begin(pod);
  if (!request) return request.error();
  if (!*request) return choice;
  choice.ours = true;
  const Result<QuotaDecision> decided = search_.withinQuota(**request, &nodes);
  if (!decided) return decided.error();
  if (decided->placement) {
    const Result<void> reserved = reserve(**request, *decided->placement, expires);
    if (!reserved) return reserved.error();
    choice.node = decided->placement->node.text;
    state_.unschedulable.leave(pod.meta.uid);
    return choice;
  }
  if (!decided->beyond.empty()) {
    // Evictions there do not help. With this answer kube-scheduler preempts no pod for it.
    for (const std::string_view name : nodes) choice.never.emplace(name, decided->beyond);
    return refuse(pod, std::move(**request), std::move(choice));
  }
  const Result<void> explained = search_.explain(**request, nodes, &choice);
  if (!explained) return explained.error();
  // Each of these nodes fits on its own, but bounded time did not suffice to find a placement.
  if (!choice.fitting.empty()) {
    const Reason none = "no way was found";
    const std::unordered_set<std::string_view> tried(choice.fitting.begin(), choice.fitting.end());
    for (const std::string_view name : nodes)
      if (tried.contains(name)) choice.why.emplace(name, none);
    choice.fitting.clear();
  }
  return refuse(pod, std::move(**request), std::move(choice));
}

Result<FilterResult> PodFilter::fitting(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes) {
  FilterResult choice;
  const engine::Engine::BudgetScope scope(state_.engine);
  Result<std::optional<engine::Request>> request = begin(pod);
  if (!request) return request.error();
  if (!*request) return choice;
  choice.ours = true;
  const auto beyond =
      state_.quotas.refusal(pod.meta.namespace_name, pod.meta.uid, leastAsked(pod, state_.catalog));
  if (beyond) {
    for (const std::string_view name : nodes) choice.never.emplace(name, refusalText(*beyond));
    return refuse(pod, std::move(**request), std::move(choice));
  }
  const Result<void> explained = search_.explain(**request, nodes, &choice);
  if (!explained) return explained.error();
  if (choice.fitting.empty()) return refuse(pod, std::move(**request), std::move(choice));
  state_.unschedulable.leave(pod.meta.uid);
  state_.pods.details(pod.meta.uid).request =
      std::make_unique<engine::Request>(std::move(**request));
  state_.pods.restoreNomination(pod.meta.uid);
  return choice;
}

Result<std::vector<unsigned>> PodFilter::scores(const kube::Pod& pod,
                                                std::span<const std::string_view> nodes) const {
  const Result<std::optional<engine::Request>> request =
      requestOf(pod, state_.catalog, state_.config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  if (!*request) return std::vector<unsigned>(nodes.size(), 0);
  const engine::Engine::BudgetScope scope(state_.engine);
  std::vector<std::uint32_t> scores;
  scores.reserve(nodes.size());
  for (const std::string_view node : nodes) {
    const Result<std::optional<engine::Placement>> there = search_.onNode(**request, node);
    if (!there) return there.error();
    scores.push_back(*there ? 1 + (*there)->score : 0);
  }
  return spread(scores);
}

std::vector<PodRef> PodFilter::popSchedulable(std::size_t most, engine::Instant now) {
  const engine::Engine::BudgetScope scope(state_.engine);
  const std::uint64_t before = state_.engine.tries();
  const auto fits = [&](const engine::Request& request) {
    const Result<QuotaDecision> decided = search_.withinQuota(request, nullptr);
    return decided && decided->placement;
  };
  const auto over = [&] { return state_.engine.tries() - before >= engine::kTriesOfDecision; };
  return state_.unschedulable.popSchedulable(most, now, fits, over);
}

}  // namespace divvy::scheduler
