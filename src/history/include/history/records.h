// Events, and the objects that they are about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/instant.h"

namespace divvy::history {

// One event. Texts beyond kMaxEventText bytes are cut.
struct Event {
  Instant time{};
  std::string kind{};    // "decision", "change", "eviction", "error"
  std::string object{};  // UID of the object; empty: none
  std::string actor{};   // its cause: a user, "scheduler", "agent"
  std::string text{};    // one line for readers
  std::string json{};    // details for programs; may be empty
};
inline constexpr std::size_t kMaxEventText = 16 * 1024;

// An event with its place in the order of all events.
struct StoredEvent {
  std::int64_t id = 0;  // > 0
  Event event{};
};

// Which events to list, newest first. Empty texts match all.
struct EventQuery {
  Instant from = Instant::min();
  Instant to = Instant::max();  // exclusive
  std::string object{};
  std::string kind{};
  // The last event of the page before; nothing: the first page.
  std::optional<std::int64_t> before_id{};
  std::optional<Instant> before_time{};
  std::size_t limit = 100;  // 1 to kMaxPage
};
inline constexpr std::size_t kMaxPage = 500;

// An object that events, series and usage name by its UID. Empty texts: not known.
struct ObjectRecord {
  std::string uid{};  // not empty
  std::string kind{};
  std::string name{};
  std::string namespace_name{};
  std::string team{};
  std::string queue{};
  std::string owner{};
  std::string image{};
  std::string model{};
  Instant first_seen{};  // the store keeps the earliest
  Instant last_seen{};   // and the latest
};

}  // namespace divvy::history
