#include "score/score_cache.h"

#include <algorithm>

namespace divvy::engine {
namespace {

// Each costs about 5 bytes per node.
constexpr std::size_t kMaxClasses = 512;

}  // namespace

// A node that stays keeps its key. A new node is evaluated as a changed one.
void Scores::reorder(const std::shared_ptr<const NodeOrder::Sorted>& order) {
  std::vector<RankingKey> keys(order->slots.size());
  for (std::size_t place = 0; order_ && place < keys.size(); ++place) {
    const Slot slot = order->slots[place];
    const bool known = slot < order_->places.size() && order_->places[slot] != NodeOrder::kNowhere;
    if (known) keys[place] = tree_.at(order_->places[slot]);
  }
  tree_.build(keys);
  order_ = order;
}

void Scores::evaluate(const Scorer& scorer, Slot slot, SearchPass& pass) {
  const std::uint32_t place = order_->places[slot];
  if (place == NodeOrder::kNowhere) return;
  compact_refusals_.drop(slot);
  replicas_.drop(slot);
  if (slot >= ends_.size()) ends_.resize(slot + 1, PlanOutcome::kNoWay);
  const Scorer::KeyResult keyed = scorer.key(shape_, slot, pass);
  if (keyed.end == PlanOutcome::kPutOff && ends_[slot] != PlanOutcome::kPutOff)
    put_off_.push_back(slot);
  ends_[slot] = keyed.end;
  tree_.set(place, keyed.key);
}

std::size_t Scores::update(const Scorer& scorer, const NodeOrder& order, const ChangeLog& log,
                           const std::vector<Model>& models, std::size_t most,
                           SearchBudget& budget) {
  const std::shared_ptr<const NodeOrder::Sorted>& sorted = order.sorted();
  if (filled_ && seen_ == log.now() && order_ == sorted && put_off_.empty()) return 0;
  shape_.learn(models);
  if (order_ != sorted) reorder(sorted);
  std::size_t looked = 0;
  SearchPass pass(budget);
  // If the budget ends early, the remaining nodes are evaluated next time.
  std::vector<Slot> again;
  again.swap(put_off_);
  for (; !again.empty() && looked < most && !budget.spent(); ++looked) {
    const Slot slot = again.back();
    again.pop_back();
    ends_[slot] = PlanOutcome::kNoWay;
    evaluate(scorer, slot, pass);
  }
  put_off_.insert(put_off_.end(), again.begin(), again.end());
  const auto evaluateSlot = [&](Slot slot) {
    ++looked;
    evaluate(scorer, slot, pass);
  };
  if (filled_ && log.kept(seen_)) {
    seen_ = log.since(seen_, most, evaluateSlot);
    return looked;
  }
  if (most < order.size()) return looked;
  for (const Slot slot : sorted->slots) {
    if (!filled_ || log.changed(slot, seen_)) evaluateSlot(slot);
  }
  filled_ = true;
  seen_ = log.now();
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

Result<Scores*> ScoreCache::find(const Shape& shape, const Config& config, const Pools& pools) {
  if (shape.daily) {
    // Shapes with nearly equal use by hour share one class.
    std::optional<UsageByHour> like;
    if (considersUsageByHour(pools.configFor(shape, config))) like = typical(*shape.daily);
    if (like != shape.daily) {
      const Result<void> right = checkShape(shape);
      if (!right) return right.error();
      Shape alike = shape;
      alike.daily = like;
      return find(alike, config, pools);
    }
  }
  const auto known = by_shape_.find(shape);
  if (known != by_shape_.end()) {
    known->second->used_ = ++asked_;
    return known->second;
  }
  const Result<void> right = checkShape(shape);
  if (!right) return right.error();
  if (classes_.size() >= kMaxClasses) dropOldest();
  classes_.push_back(std::make_unique<Scores>(ShapeClass(shape, pools.configFor(shape, config))));
  Scores* scores = classes_.back().get();
  scores->used_ = ++asked_;
  by_shape_[shape] = scores;
  return scores;
}

}  // namespace divvy::engine
