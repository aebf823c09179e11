// What happened lately, for people: bounded, in memory; also a line each in the diary. Private.
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

  // Gives it its number, and its time unless it has one.
  void add(EventView event);
  // Of one tenant (id or name; empty: all), those after that number, the oldest first.
  std::vector<EventView> since(std::uint64_t after, const std::string& tenant) const;
  std::uint64_t last() const { return last_; }

 private:
  std::deque<EventView> events_;
  std::uint64_t last_ = 0;
};

}  // namespace divvy::agent
