// Virtual time: events in the order of their instants, first come first served among equals.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "arbiter/law.h"

namespace divvy::arbiter::world {

class Timeline {
 public:
  Nanos now() const { return now_; }
  void at(Nanos instant, std::function<void()> what) {
    queue_.push({std::max(instant, now_), next_++, std::move(what)});
  }
  void in(Nanos delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  // Runs everything up to `end`, which is then the instant; false: nothing was left before.
  bool runUntil(Nanos end) {
    while (!queue_.empty() && queue_.top().instant <= end) {
      now_ = queue_.top().instant;
      auto what = std::move(queue_.top().what);
      queue_.pop();
      what();
    }
    now_ = end;
    return !queue_.empty();
  }

 private:
  struct Event {
    Nanos instant;
    std::uint64_t order;
    mutable std::function<void()> what;  // moved out of the queue's top, which is const
    bool operator<(const Event& other) const {
      return instant != other.instant ? instant > other.instant : order > other.order;
    }
  };
  Nanos now_ = 0;
  std::uint64_t next_ = 0;
  std::priority_queue<Event> queue_;
};

}  // namespace divvy::arbiter::world
