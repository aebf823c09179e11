// The key of each node for each shape, kept while single nodes change.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "nodes/pools.h"
#include "refusal/compact_refusal_cache.h"
#include "score/node_order.h"
#include "score/policies.h"
#include "score/replicas_cache.h"
#include "score/tournament_tree.h"

namespace divvy::engine {

// The keys of one shape on all nodes. Places in the tree are those of the order of nodes.
class Scores {
 public:
  explicit Scores(ShapeClass shape) : shape_(std::move(shape)) {}

  ShapeClass& shape() { return shape_; }
  const TournamentTree& tree() const { return tree_; }
  CompactRefusalCache& compactRefusals() { return compact_refusals_; }
  ReplicasCache& replicas() { return replicas_; }
  // Evaluates changed nodes and nodes that were put off, at most `most`, until the budget is spent.
  // Returns how many it evaluated. The keys can be out of date afterwards.
  std::size_t update(const Scorer& scorer, const NodeOrder& order, const ChangeLog& log,
                     const std::vector<Model>& models, std::size_t most, SearchBudget& budget);
  // Returns the result of the search on a node. kPutOff: it was not evaluated yet.
  PlanOutcome endOf(Slot slot) const {
    return slot < ends_.size() ? ends_[slot] : PlanOutcome::kPutOff;
  }

 private:
  void evaluate(const Scorer& scorer, Slot slot, SearchPass& pass);
  void reorder(const std::shared_ptr<const NodeOrder::Sorted>& order);

  ShapeClass shape_;
  TournamentTree tree_;
  CompactRefusalCache compact_refusals_;            // no entry for slots that were evaluated since
  ReplicasCache replicas_;                          // as above
  std::shared_ptr<const NodeOrder::Sorted> order_;  // of the tree's places
  std::vector<PlanOutcome> ends_;                   // by slot
  std::vector<Slot> put_off_;                       // without duplicates
  ChangeLog::Count seen_ = 0;
  bool filled_ = false;
  std::uint64_t used_ = 0;
  friend class ScoreCache;
};

// Not thread-safe. Holds a bounded number of shapes; the one that was not used for the longest time
// goes first.
class ScoreCache {
 public:
  // Drops everything.
  void clear();
  // Returns the scores of a shape, which may be out of date. kUsage: the shape is not valid.
  Result<Scores*> find(const Shape& shape, const Config& config, const Pools& pools);
  bool empty() const { return classes_.empty(); }
  // Updates shapes in rotation, with at most `most` node evaluations. `place`: the place of the
  // node that changed last.
  template <typename Update>
  void tidy(std::size_t most, std::size_t place, const Update& update) {
    const auto after = [&](std::size_t i) { return i + 1 < classes_.size() ? i + 1 : 0; };
    for (std::size_t tried = 0; tried < classes_.size() && most > 0; ++tried) {
      next_ = after(next_);
      const std::size_t soon = after(next_);
      classes_[soon]->tree_.expect(place);
      __builtin_prefetch(classes_[after(soon)].get());
      const std::size_t looked = update(*classes_[next_], most);
      most -= std::min(most, looked);
    }
  }

 private:
  void dropOldest();

  std::map<Shape, Scores*> by_shape_;
  std::vector<std::unique_ptr<Scores>> classes_;
  std::size_t next_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace divvy::engine
