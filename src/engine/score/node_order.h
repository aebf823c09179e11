// The order in which equally good nodes are taken, and which of them changed last.
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
  // A new order may have come with the description.
  void update(Slot slot, const Node& node);

  struct Sorted {
    std::vector<Slot> slots;
    std::vector<std::uint32_t> places;  // by slot; kNowhere where there is no node
  };
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  std::size_t size() const { return order_.size(); }
  // Another one after nodes came or went; who still has the one before can compare.
  const std::shared_ptr<const Sorted>& sorted() const;
  const std::vector<Slot>& slots() const { return sorted()->slots; }
  std::uint32_t placeOf(Slot slot) const { return sorted()->places[slot]; }

 private:
  using Place = std::pair<std::uint64_t, NodeName>;
  static Place placeFor(const Node& node);

  std::map<Place, Slot> order_;
  std::vector<Place> keys_;                       // by slot
  mutable std::shared_ptr<const Sorted> sorted_;  // none: has to be made again
};

// Which nodes changed since one last looked, as long as it is not too long ago.
class ChangeLog {
 public:
  using Count = std::uint64_t;  // changes so far

  void grow(std::size_t slots);
  void note(Slot slot);
  Count now() const { return now_; }
  // Each slot that changed after `then` and not again later, of the next `most` changes; where it
  // got to. Only if kept(then).
  template <typename Visit>
  Count since(Count then, std::size_t most, const Visit& visit) const {
    const Count end = now_ - then > most ? then + most : now_;
    for (Count at = then + 1; at <= end; ++at) {
      const Slot slot = ring_[at % ring_.size()];
      if (last_[slot] == at) visit(slot);
    }
    return end;
  }
  // What changed after `then` is still known in order.
  bool kept(Count then) const { return then >= forgotten_ && now_ - then <= ring_.size(); }
  std::size_t slots() const { return last_.size(); }
  bool changed(Slot slot, Count then) const { return last_[slot] > then; }

 private:
  std::vector<Slot> ring_ = std::vector<Slot>(1024);
  std::vector<Count> last_;  // by slot
  Count now_ = 0;
  Count forgotten_ = 0;  // what was before that is not in the ring any more
};

}  // namespace divvy::engine
