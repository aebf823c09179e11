// One gang while places are looked for: every try books for real and is taken back, so that it is
// what would happen.
#pragma once

#include <algorithm>

#include "core/core.h"

namespace divvy::engine {

class Engine::Core::GangPlacer {
 public:
  using Slots = std::vector<Slot>;
  using Domains = std::map<std::vector<std::string>, Slots>;

  GangPlacer(Core& core, const Gang& gang, Instant expires);

  // True: all of them are booked, at the narrowest level that has room for all; `where` as in
  // GangPlacement.
  bool place(std::vector<std::string>* where);
  // The same on these nodes, without a thought for levels; and notes how many it could book.
  bool book(const Slots& slots) { return book(slots, gang_.levels.size()); }
  void takeBack() { takeBack(0); }

  // Together at so many levels. A node that lacks a level is a domain of its own below the others,
  // where all are wanted.
  Domains domains(const Slots& slots, std::size_t count, bool all) const;
  // Those that have to take all of it: of the required level, or all nodes.
  std::vector<Slots> whole() const;
  // Members, the largest first.
  const std::vector<std::size_t>& order() const { return order_; }
  // Books this one on one of these.
  bool bookOne(std::size_t member, const Slots& slots);

  std::size_t most() const { return most_; }

 private:
  using Tightest = std::vector<std::pair<std::int64_t, const Domains::value_type*>>;

  bool within(const Slots& slots, std::size_t level) {
    return weight_ <= freeIn(slots) && book(slots, level);
  }
  bool book(const Slots& slots, std::size_t level);
  bool regardless(const Tightest& required, std::vector<std::string>* where);
  // Books as many of them as it can, in as few domains as it can; who is booked leaves `left`.
  void fill(const Slots& slots, std::size_t level, std::vector<std::size_t>* left);
  void fillNodes(const Slots& slots, std::vector<std::size_t>* left);
  std::int64_t freeIn(const Slots& slots) const;
  void takeBack(std::size_t to) {
    for (; booked_.size() > to; booked_.pop_back()) core_.release(gang_.members[booked_.back()].id);
  }

  Core& core_;
  const Gang& gang_;
  const Instant expires_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> booked_;
  std::int64_t weight_ = 0;
  std::size_t most_ = 0;
};

}  // namespace divvy::engine
