#include "cache/placement_search.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/refusal_texts.h"
#include "codec/pod_request.h"

namespace divvy::scheduler {
namespace {

Result<std::optional<engine::Placement>> placementOf(const Result<engine::Decision>& decision) {
  if (!decision) return decision.error();
  return decision->placement;
}

bool isCordoned(const engine::CompactRefusal& brief) {
  return brief.why == engine::NodeWhy::kDevices && brief.most == engine::DeviceWhy::kCordoned;
}

}  // namespace

Result<std::optional<engine::Placement>> PlacementSearch::among(const engine::Request& request,
                                                                Names names) const {
  // Usually `names` has all nodes. If it has the best of all nodes, that is also its best.
  const Result<engine::Decision> best = state_.engine.decide(request);
  if (!best || !best->placement) return placementOf(best);
  const std::string_view node = best->placement->node.text;
  if (std::find(names.begin(), names.end(), node) != names.end()) return best->placement;
  std::vector<engine::NodeName> known;
  for (const std::string_view name : names)
    if (state_.nodes.find(name) != nullptr) known.emplace_back(std::string(name));
  if (known.empty()) return std::optional<engine::Placement>();
  return placementOf(state_.engine.decideAmong(request, known));
}

Result<std::optional<engine::Placement>> PlacementSearch::onNode(const engine::Request& request,
                                                                 std::string_view node) const {
  if (state_.nodes.find(node) == nullptr) return std::optional<engine::Placement>();
  const std::array<engine::NodeName, 1> only{engine::NodeName(std::string(node))};
  return placementOf(state_.engine.decideAmong(request, only));
}

std::optional<std::string> PlacementSearch::beyondQuota(const engine::Request& request,
                                                        const engine::Placement& placement) const {
  if (!state_.quotas.limits(request.user.text)) return std::nullopt;
  return state_.quotas.refusal(request.user.text, request.id.text,
                               state_.amountsOf(placement, nullptr));
}

Result<QuotaDecision> PlacementSearch::withinQuota(const engine::Request& request,
                                                   const Names* names) {
  QuotaDecision found;
  const Result<std::optional<engine::Placement>> best =
      names != nullptr ? among(request, *names) : placementOf(state_.engine.decide(request));
  if (!best) return best.error();
  if (!*best) return found;
  const auto why = beyondQuota(request, **best);
  if (!why) {
    found.placement = *best;
    return found;
  }
  found.beyond = refusalText(*why);
  if (!dependsOnDevice(request.shape)) return found;
  // All of a smaller device, or half of it, may be within.
  std::unordered_set<std::string_view> wanted;
  if (names != nullptr) wanted.insert(names->begin(), names->end());
  for (const std::vector<std::string>& group : state_.nodes.alike()) {
    std::vector<engine::NodeName> nodes;
    for (const std::string& name : group)
      if (names == nullptr || wanted.contains(name)) nodes.emplace_back(name);
    if (nodes.empty()) continue;
    const auto there = placementOf(state_.engine.decideAmong(request, nodes));
    if (!there) return there.error();
    const bool better = *there && (!found.placement || (*there)->score > found.placement->score);
    if (better && !beyondQuota(request, **there)) found.placement = *there;
  }
  if (found.placement) found.beyond.clear();
  return found;
}

Result<void> PlacementSearch::explain(const engine::Request& request, Names names,
                                      FilterResult* choice) const {
  const Result<engine::CompactRefusals> briefs = state_.engine.compactRefusals(request, names);
  if (!briefs) return briefs.error();
  const PodEntry* pod = state_.pods.find(request.id.text);
  const bool listed = pod != nullptr && pod->details.containers != nullptr;
  RefusalTextCache texts(listed ? pod->details.containers->containers : std::vector<std::string>(),
                         request.shape);
  const std::vector<Reason> reasons = texts.reasonsOf(briefs->different);
  const Reason none = kNothingRegistered;
  choice->why.reserve(names.size());
  for (std::size_t at = 0; at < names.size(); ++at) {
    const std::string_view name = names[at];
    const std::uint32_t place = briefs->of[at];
    const bool refused = place < briefs->different.size();
    if (place == engine::CompactRefusals::kNone) {
      choice->fitting.emplace_back(name);
    } else if (const std::string* fault = state_.nodes.faultOf(name)) {
      choice->why.emplace(name, *fault);
    } else if (!refused) {
      choice->why.emplace(name, none);
    } else {
      const engine::CompactRefusal& brief = briefs->different[place];
      std::optional<Reason> upgrade;
      if (isCordoned(brief)) upgrade = upgradeOn(name, brief);
      (RefusalTextCache::never(brief) ? choice->never : choice->why)
          .emplace(name, upgrade ? *upgrade : reasons[place]);
    }
  }
  return {};
}

// The reason of a cordoned device if a driver upgrade on the node is the cause; none: another
// cause.
std::optional<Reason> PlacementSearch::upgradeOn(std::string_view node,
                                                 const engine::CompactRefusal& brief) const {
  const CachedNode* known = state_.nodes.find(node);
  if (known == nullptr) return std::nullopt;
  const vendors::Kind* kind = state_.catalog.kind(brief.kind.text);
  std::string why = kind == nullptr ? std::string() : upgradeOf(known->said, *kind);
  if (why.empty()) return std::nullopt;
  return Reason(std::move(why));
}

}  // namespace divvy::scheduler
