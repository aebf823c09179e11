#include "score_cache.h"

#include <algorithm>

namespace divvy::engine {
namespace {

// Each costs about 12 bytes per node.
constexpr std::size_t kMostClasses = 512;

}  // namespace

void Scores::rebuild(const NodeOrder& order) {
  std::vector<Key> in_order;
  in_order.reserve(order.size());
  for (const Slot slot : order.slots()) in_order.push_back(keys_[slot]);
  tree_.build(in_order);
  epoch_ = order.epoch();
}

std::size_t Scores::update(const Scorer& scorer, const NodeOrder& order, const ChangeLog& log,
                           const std::vector<ModelName>& models, std::size_t most) {
  if (filled_ && seen_ == log.now() && epoch_ == order.epoch()) return 0;
  shape_.learn(models);
  std::size_t looked = 0;
  const bool reordered = epoch_ != order.epoch();
  const auto look = [&](Slot slot) {
    ++looked;
    const Key key = scorer.key(shape_, slot);
    if (key == keys_[slot]) return;
    keys_[slot] = key;
    if (!reordered) tree_.set(order.placeOf(slot), key);
  };
  keys_.resize(log.slots());
  if (filled_ && log.kept(seen_)) {
    seen_ = log.since(seen_, most, look);
  } else if (most < order.size()) {
    return 0;
  } else {
    for (const Slot slot : order.slots()) {
      if (!filled_ || log.changed(slot, seen_)) look(slot);
    }
    filled_ = true;
    seen_ = log.now();
  }
  if (reordered) rebuild(order);
  return looked;
}

void ScoreCache::clear() {
  by_shape_.clear();
  classes_.clear();
  next_ = 0;
}

void ScoreCache::dropOldest() {
  const auto oldest =
      std::min_element(classes_.begin(), classes_.end(),
                       [](const auto& a, const auto& b) { return a->used_ < b->used_; });
  by_shape_.erase((*oldest)->shape_.shape());
  classes_.erase(oldest);
}

Result<Scores*> ScoreCache::find(const Shape& shape, Policy policy) {
  const auto known = by_shape_.find(shape);
  if (known != by_shape_.end()) {
    known->second->used_ = ++asked_;
    return known->second;
  }
  const Result<void> right = checkShape(shape);
  if (!right) return right.error();
  if (classes_.size() >= kMostClasses) dropOldest();
  classes_.push_back(std::make_unique<Scores>(ShapeClass(shape, shape.policy.value_or(policy))));
  Scores* scores = classes_.back().get();
  scores->used_ = ++asked_;
  by_shape_[shape] = scores;
  return scores;
}

}  // namespace divvy::engine
