// Asking about nodes that somebody describes, as autoscalers do: on an engine of its own.
#include "would_fit.h"

#include "describe.h"

namespace divvy::scheduler {

Result<Choice> wouldFit(const Supposed& supposed, const kube::Pod& pod,
                        std::span<const kube::Node> nodes, const vendors::Catalog& catalog) {
  Choice choice;
  Result<std::optional<engine::Request>> request = requestOf(pod, catalog, supposed.config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  if (!*request) return choice;
  choice.ours = true;
  engine::Engine there(supposed.config);
  const auto pools = there.setPools(supposed.pools);
  if (!pools) return pools.error();
  for (const kube::Node& node : nodes) {
    const Result<DescribedNode> described = describe(node, catalog);
    const Result<void> set =
        described ? there.setNode(described->node) : Result<void>(described.error());
    if (!set) {
      choice.why[node.meta.name] = set.error().message();
      continue;
    }
    for (const engine::Allocation& held : supposed.heldOn(engine::NodeName(node.meta.name))) {
      if (held.id.text == pod.meta.uid) continue;  // it would come from there
      const Result<void> adopted = there.adopt(held);
      if (!adopted) return adopted.error();
    }
  }
  const Result<engine::Decision> decision = there.explain(**request);
  if (!decision) return decision.error();
  for (const engine::NodeRefusal& one : decision->refusals) {
    const bool never = one.why == engine::NodeWhy::kTooFew;
    (never ? choice.never : choice.why)[one.node.text] = engine::text(one);
  }
  return choice;
}

}  // namespace divvy::scheduler
