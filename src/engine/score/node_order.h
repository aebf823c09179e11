// The order in which equally good nodes are taken, and a log of changed nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "nodes/hot_state.h"

namespace divvy::engine {

class NodeOrder {
 public:
  void add(Slot slot, const Node& node);
  void remove(Slot slot);
  // Must be called when a description changes, because it can set a new position.
  void update(Slot slot, const Node& node);

  struct Sorted {
    std::vector<Slot> slots;
    std::vector<std::uint32_t> places;  // by slot; kNowhere where there is no node
  };
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  std::size_t size() const { return order_.size(); }
  // Returns a new object after nodes were added or removed, so holders of the former one can
  // compare.
  const std::shared_ptr<const Sorted>& sorted() const;
  const std::vector<Slot>& slots() const { return sorted()->slots; }
  std::uint32_t placeOf(Slot slot) const { return sorted()->places[slot]; }

 private:
  using NodePosition = std::pair<std::uint64_t, NodeName>;
  static NodePosition placeFor(const Node& node);

  std::map<NodePosition, Slot> order_;
  std::vector<NodePosition> keys_;                // by slot
  mutable std::shared_ptr<const Sorted> sorted_;  // none: must be built again
};

// The nodes that changed since a given count, for a bounded number of changes.
class ChangeLog {
 public:
  using Count = std::uint64_t;  // changes so far

  void grow(std::size_t slots);
  void note(Slot slot);
  Count now() const { return now_; }
  // Visits each slot that changed after `then` and not again later, of the next `most` changes.
  // Returns the count that it reached. Requires kept(then).
  template <typename Visit>
  Count since(Count then, std::size_t most, const Visit& visit) const {
    const Count end = now_ - then > most ? then + most : now_;
    for (Count at = then + 1; at <= end; ++at) {
      const Slot slot = ring_[at % ring_.size()];
      if (last_[slot] == at) visit(slot);
    }
    return end;
  }
  // Returns true if the order of changes after `then` is still known.
  bool kept(Count then) const { return then >= forgotten_ && now_ - then <= ring_.size(); }
  std::size_t slots() const { return last_.size(); }
  bool changed(Slot slot, Count then) const { return last_[slot] > then; }

 private:
  std::vector<Slot> ring_ = std::vector<Slot>(1024);
  std::vector<Count> last_;  // by slot
  Count now_ = 0;
  Count forgotten_ = 0;  // changes up to this count are no longer in the ring
};

}  // namespace divvy::engine
