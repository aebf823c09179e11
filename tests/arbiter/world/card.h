// A card that runs one context at a time and gives each a time slice in turn; a change of contexts
// costs time. What it executed for whom is the truth that shares are judged by.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "timeline.h"

namespace divvy::arbiter::world {

struct Kernel {
  Nanos left = 0;
  // Unset: none. Else it spins until this is true, and then runs `left`.
  const bool* released = nullptr;
  // Called when it has ended, with the time since it was first on the card or, if later, since its
  // predecessor in the context ended: what timing events show.
  std::function<void(Nanos elapsed)> done;
  Nanos started = -1;
};

class Card {
 public:
  Card(Timeline* timeline, Nanos slice, Nanos switch_cost)
      : timeline_(*timeline), slice_(slice), switch_cost_(switch_cost) {}

  unsigned addContext();
  void submit(unsigned context, Kernel kernel);
  // Something that kernels spin on may be true now.
  void look();
  // Time executed for the context up to now, of spinning too.
  Nanos got(unsigned context);

 private:
  struct Context {
    std::deque<Kernel> queue;
    Nanos got = 0;
    Nanos last_end = 0;
  };
  static constexpr unsigned kNobody = ~0u;

  void account();
  void schedule();
  unsigned nextAfter(unsigned context) const;
  void start(unsigned context);
  void tick(std::uint64_t generation);
  Nanos leftOf(const Kernel& kernel) const;

  Timeline& timeline_;
  Nanos slice_;
  Nanos switch_cost_;
  std::vector<Context> contexts_;
  unsigned current_ = kNobody;
  unsigned last_ = kNobody;
  Nanos slice_start_ = 0;  // when the current context began to execute; later: it is being loaded
  Nanos accounted_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace divvy::arbiter::world
