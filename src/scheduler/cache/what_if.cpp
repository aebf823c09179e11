#include "cache/what_if.h"

#include <string_view>
#include <unordered_map>

#include "cache/refusal_texts.h"
#include "codec/pod_request.h"

namespace divvy::scheduler {

Result<FilterResult> WhatIf::simulateFit(const kube::Pod& pod,
                                         std::span<const kube::Node> nodes) const {
  FilterResult choice;
  const auto beyond =
      state_.quotas.refusal(pod.meta.namespace_name, pod.meta.uid, leastAsked(pod, state_.catalog));
  if (beyond) {
    choice.ours = true;
    for (const kube::Node& node : nodes) choice.never.emplace(node.meta.name, refusalText(*beyond));
    return choice;
  }
  Result<std::optional<engine::Request>> request =
      requestOf(pod, state_.catalog, state_.config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  if (!*request) return choice;
  choice.ours = true;
  engine::Engine there(state_.config);
  const auto pools = there.setPools(state_.engine.pools());
  if (!pools) return pools.error();
  for (const kube::Node& node : nodes) {
    const Result<NodeDescription> described = describe(node, state_.catalog);
    const Result<void> set =
        described ? there.setNode(described->node) : Result<void>(described.error());
    if (!set) {
      choice.why.emplace(node.meta.name, set.error().message());
      continue;
    }
    for (const engine::Allocation& held : state_.pods.heldOn(node.meta.name)) {
      if (held.id.text == pod.meta.uid) continue;  // the pod itself, which would move
      const Result<void> adopted = there.adopt(held);
      if (!adopted) return adopted.error();
    }
  }
  const Result<std::vector<engine::CompactRefusal>> briefs = there.compactRefusals(**request);
  if (!briefs) return briefs.error();
  std::vector<std::string> containers;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list) containers.push_back(one.name);
  RefusalTextCache texts(std::move(containers), (*request)->shape);
  std::unordered_map<std::string_view, const engine::CompactRefusal*> refused;
  for (const engine::CompactRefusal& one : *briefs) refused.emplace(one.node.text, &one);
  for (const kube::Node& node : nodes) {
    const auto found = refused.find(node.meta.name);
    if (found == refused.end()) continue;
    const bool never = RefusalTextCache::never(*found->second);
    (never ? choice.never : choice.why).emplace(node.meta.name, texts.reasonOf(*found->second));
  }
  return choice;
}

}  // namespace divvy::scheduler
