// Recent events, for users: a bounded number in memory, and one line each in the log. Private.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agent/protocol.h"

namespace divvy::agent {

class EventLog {
 public:
  static constexpr std::size_t kMax = 2000;

  // Sets the event's number, and its time if it is 0.
  void add(EventView event);
  // The events after number `after`, of one tenant (ID or name) or of all (empty), oldest first.
  std::vector<EventView> since(std::uint64_t after, const std::string& tenant) const;
  std::uint64_t last() const { return last_; }

 private:
  std::deque<EventView> events_;
  std::uint64_t last_ = 0;
};

}  // namespace divvy::agent
