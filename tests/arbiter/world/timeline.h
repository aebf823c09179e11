// Virtual time: events in the order of their instants, first come first served among equals.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "arbiter/policy.h"

namespace divvy::arbiter::world {

class Timeline {
 public:
  Nanos now() const { return now_; }
  void at(Nanos instant, std::function<void()> what) {
    std::size_t slot = actions_.size();
    if (free_.empty()) {
      actions_.push_back(std::move(what));
    } else {
      slot = free_.back();
      free_.pop_back();
      actions_[slot] = std::move(what);
    }
    queue_.push({std::max(instant, now_), next_++, slot});
  }
  void in(Nanos delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  // Runs everything up to `end`, which is then the instant; false: nothing was left before.
  bool runUntil(Nanos end) {
    while (!queue_.empty() && queue_.top().instant <= end) {
      const Event event = queue_.top();
      queue_.pop();
      now_ = event.instant;
      const std::function<void()> what = std::move(actions_[event.slot]);
      free_.push_back(event.slot);
      what();
    }
    now_ = end;
    return !queue_.empty();
  }

 private:
  // The heap moves events; actions stay where they are.
  struct Event {
    Nanos instant;
    std::uint64_t order;
    std::size_t slot;
    bool operator<(const Event& other) const {
      return instant != other.instant ? instant > other.instant : order > other.order;
    }
  };
  Nanos now_ = 0;
  std::uint64_t next_ = 0;
  std::priority_queue<Event> queue_;
  std::vector<std::function<void()>> actions_;
  std::vector<std::size_t> free_;
};

}  // namespace divvy::arbiter::world
