// Search for the placement of one gang. Each try makes its reservations in the engine and reverses
// them, so its result is exact.
#pragma once

#include <algorithm>

#include "core/core.h"

namespace divvy::engine {

// Keeps references to `core` and `gang`, which must outlive it.
class Engine::Core::GangPlacer {
 public:
  using Slots = std::vector<Slot>;
  using Domains = std::map<std::vector<std::string>, Slots>;

  GangPlacer(Core& core, const Gang& gang, Instant expires);

  // Books all members at the narrowest level that holds them all; `where` as in GangPlacement.
  // Returns false, with none booked, if no level does.
  bool place(std::vector<std::string>* where);
  // Books all members on these nodes without regard to levels, or none; updates most().
  bool placeOn(const Slots& slots) { return placeOn(slots, gang_.levels.size()); }
  void undo() { undo(0); }

  // Groups nodes by the values of the first `count` levels. A node without one of these labels is
  // left out, or with `all` is a domain of its own.
  Domains domains(const Slots& slots, std::size_t count, bool all) const;
  // Returns the sets of nodes that can hold the whole gang: domains of the required level, or all
  // nodes.
  std::vector<Slots> whole() const;
  // Indices of the members, the largest request first.
  const std::vector<std::size_t>& order() const { return order_; }
  // Books one member on one of these nodes. Returns false if it fits on none of them.
  bool placeMember(std::size_t member, const Slots& slots);

  // The largest number of members that one try could reserve.
  std::size_t most() const { return most_; }

 private:
  using Tightest = std::vector<std::pair<std::int64_t, const Domains::value_type*>>;

  bool within(const Slots& slots, std::size_t level) {
    return weight_ <= freeIn(slots) && placeOn(slots, level);
  }
  bool placeOn(const Slots& slots, std::size_t level);
  bool regardless(const Tightest& required, std::vector<std::string>* where);
  // Books as many members as possible, in as few domains as possible; removes them from `left`.
  void fill(const Slots& slots, std::size_t level, std::vector<std::size_t>* left);
  void fillNodes(const Slots& slots, std::vector<std::size_t>* left);
  std::int64_t freeIn(const Slots& slots) const;
  void undo(std::size_t to) {
    for (; placed_.size() > to; placed_.pop_back()) core_.release(gang_.members[placed_.back()].id);
  }

  Core& core_;
  const Gang& gang_;
  const Instant expires_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> placed_;
  std::int64_t weight_ = 0;
  std::size_t most_ = 0;
};

}  // namespace divvy::engine
