// Queries: they change only caches.
#include <algorithm>

#include "base/rng.h"
#include "core/core.h"
#include "fit/fit.h"

namespace divvy::engine {

Result<Scores*> Engine::Core::upToDate(const Request& request) {
  Shape made;
  const Result<const Shape*> shape = pools_.shapeFor(request, &made);
  if (!shape) return shape.error();
  Result<Scores*> scores = cache_.find(**shape, config_, pools_);
  if (scores) (*scores)->update(scorer_, order_, log_, state_.models(), SIZE_MAX, budget_);
  return scores;
}

// Models are not learned yet; the result is not cached.
Result<ShapeClass> Engine::Core::classOf(const Request& request) const {
  const Result<void> right = checkShape(request.shape);
  if (!right) return right.error();
  Shape made;
  const Result<const Shape*> shape = pools_.shapeFor(request, &made);
  if (!shape) return shape.error();
  return ShapeClass(**shape, pools_.configFor(**shape, config_));
}

std::uint64_t Engine::Core::drawFor(const Request& request, std::uint64_t salt) const {
  return mixed(stableHash(request.id.text) ^ mixed(config_.seed + salt));
}

// Every node that fits has the same key.
Slot Engine::Core::randomSlot(const Request& request, const Scores& scores) const {
  std::uint64_t fitting = 0;
  for (std::size_t place = 0; place < order_.size(); ++place) {
    fitting += scores.tree().at(place) > 0 ? 1 : 0;
  }
  std::uint64_t left = drawFor(request, 0) % fitting;
  for (std::size_t place = 0;; ++place) {
    if (scores.tree().at(place) > 0 && left-- == 0) return order_.slots()[place];
  }
}

Decision Engine::Core::at(const Request& request, Scores& scores, Slot slot) {
  Decision decision;
  decision.placement = scorer_.placement(scores.shape(), slot, drawFor(request, 1));
  decision.placement->daily = request.shape.daily;
  return decision;
}

Result<Decision> Engine::Core::decide(const Request& request) {
  const Result<Scores*> scores = upToDate(request);
  if (!scores) return scores.error();
  const TournamentTree& tree = (*scores)->tree();
  if (tree.best() == 0) return Decision{};
  if ((*scores)->shape().policy() == Policy::kRandom) {
    return at(request, **scores, randomSlot(request, **scores));
  }
  return at(request, **scores, order_.slots()[tree.winner()]);
}

// Takes the best slot; among equals the first in the nodes' order.
Decision Engine::Core::decided(const Request& request, Scores& scores,
                               const std::vector<Slot>& fitting) {
  if (fitting.empty()) return {};
  if (scores.shape().policy() == Policy::kRandom) {
    return at(request, scores, fitting[drawFor(request, 0) % fitting.size()]);
  }
  const auto better = [&](Slot a, Slot b) {
    const std::uint32_t x = order_.placeOf(a);
    const std::uint32_t y = order_.placeOf(b);
    const RankingKey p = scores.tree().at(x);
    const RankingKey q = scores.tree().at(y);
    return p != q ? p > q : x < y;
  };
  return at(request, scores, *std::min_element(fitting.begin(), fitting.end(), better));
}

Result<Decision> Engine::Core::decideWithin(const Request& request, Window& window) {
  const Result<Scores*> scores = upToDate(request);
  if (!scores) return scores.error();
  std::vector<Slot> fitting;
  window.looked_at = 0;
  while (window.looked_at < order_.size() && fitting.size() < window.enough) {
    const std::size_t place = (window.start + window.looked_at++) % order_.size();
    if ((*scores)->tree().at(place) > 0) fitting.push_back(order_.slots()[place]);
  }
  return decided(request, **scores, fitting);
}

Result<Decision> Engine::Core::decideAmong(const Request& request,
                                           std::span<const NodeName> nodes) {
  const Result<Scores*> scores = upToDate(request);
  if (!scores) return scores.error();
  std::vector<Slot> fitting;
  for (const NodeName& name : nodes) {
    const auto known = slots_.find(name);
    if (known == slots_.end()) {
      return Error{ErrorCode::kNotFound, "no node is called \"" + name.text + "\""};
    }
    if ((*scores)->tree().at(order_.placeOf(known->second)) > 0) fitting.push_back(known->second);
  }
  return decided(request, **scores, fitting);
}

Result<bool> Engine::Core::possible(const Request& request) {
  Result<ShapeClass> shape = classOf(request);
  if (!shape) return shape.error();
  SearchPass pass(budget_);
  for (const Slot slot : order_.slots()) {
    Node node = state_.cold[slot].node;
    node.cordoned = false;
    for (Device& device : node.devices) {
      device.health = Health::kHealthy;
      device.cordoned = false;
      device.terms.foreign = {};
    }
    HotState idle;
    const Slot there = idle.put(node, pools_);
    ShapeClass fresh = *shape;
    fresh.learn(idle.models());
    // A node that was not searched may fit.
    const std::optional<NodeRefusal> refusal = refusalOf(idle, fresh, there, pass);
    if (!refusal || refusal->why == NodeWhy::kNotSearched) return true;
  }
  return false;
}

Result<std::vector<DeviceRefusal>> Engine::Core::refusedDevices(const Request& request,
                                                                const NodeName& node,
                                                                std::size_t container) const {
  Result<ShapeClass> shape = classOf(request);
  if (!shape) return shape.error();
  const auto known = slots_.find(node);
  if (known == slots_.end())
    return Error{ErrorCode::kNotFound, "no node is called \"" + node.text + "\""};
  shape->learn(state_.models());
  return refusedFor(state_, *shape, known->second, container);
}

Result<Decision> Engine::Core::explain(const Request& request) {
  Result<Decision> decision = decide(request);
  if (!decision) return decision;
  const Result<Scores*> scores = upToDate(request);
  for (const Slot slot : order_.slots()) {
    std::optional<NodeRefusal> refusal =
        refusalOf(state_, (*scores)->shape(), slot, (*scores)->endOf(slot));
    if (refusal) decision->refusals.push_back(std::move(*refusal));
  }
  return decision;
}

Result<std::vector<CompactRefusal>> Engine::Core::compactRefusals(const Request& request) {
  const Result<Scores*> scores = upToDate(request);
  if (!scores) return scores.error();
  const ShapeClass& shape = (*scores)->shape();
  const std::vector<const DeviceDemand*> demands = demandsInOrder(shape);
  std::vector<CompactRefusal> all;
  for (const Slot slot : order_.slots()) {
    if ((*scores)->tree().at(order_.placeOf(slot)) > 0) continue;
    std::optional<CompactRefusal> brief =
        compactRefusalOf(state_, shape, demands, slot, (*scores)->endOf(slot));
    if (!brief) continue;
    all.push_back(std::move(*brief));
    all.back().node = state_.cold[slot].node.name;
  }
  return all;
}

Result<CompactRefusals> Engine::Core::compactRefusals(const Request& request,
                                                      std::span<const std::string_view> nodes) {
  const Result<Scores*> scores = upToDate(request);
  if (!scores) return scores.error();
  const ShapeClass& shape = (*scores)->shape();
  const std::vector<const DeviceDemand*> demands = demandsInOrder(shape);
  CompactRefusalCache& kept = (*scores)->compactRefusals();
  CompactRefusals found;
  found.of.reserve(nodes.size());
  for (const std::string_view name : nodes) {
    const auto known = slots_.find(name);
    if (known == slots_.end()) {
      found.of.push_back(CompactRefusals::kUnknown);
      continue;
    }
    const Slot slot = known->second;
    found.of.push_back(kept.of(slot, [&]() -> std::optional<CompactRefusal> {
      if ((*scores)->tree().at(order_.placeOf(slot)) > 0) return std::nullopt;
      return compactRefusalOf(state_, shape, demands, slot, (*scores)->endOf(slot));
    }));
  }
  found.different = kept.different();
  return found;
}

}  // namespace divvy::engine
