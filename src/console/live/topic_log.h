// Changes of the lists, for viewers that follow them. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/view_delta.h"

namespace divvy::console {

// The names of the lists that can be followed.
const std::vector<std::string_view>& topics();

// One message of server-sent events, and the list that it belongs to.
struct TopicChange {
  std::uint64_t number = 0;  // of this log, from 1
  std::string_view topic;
  std::string message;
};

// The messages of the last views. Not thread-safe.
class TopicLog {
 public:
  // Older messages are dropped.
  static constexpr std::size_t kMaxMessages = 2000;
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  // `epoch` tells the messages of this process from those of the one before.
  explicit TopicLog(std::string epoch, std::size_t max_bytes = kMaxBytes)
      : epoch_(std::move(epoch)), max_bytes_(max_bytes) {}

  void append(const std::vector<ViewChange>& changes);
  // Drops all messages and those of a change.
  void skip();
  // Appends the difference of two views.
  void append(const ConsoleView& before, const ConsoleView& after);

  // Returns the messages after `number`; nothing if some of them were dropped.
  std::optional<std::vector<const TopicChange*>> since(std::uint64_t number) const;
  // Returns the number in an event ID of this log; nothing for one of another epoch.
  std::optional<std::uint64_t> numberOf(std::string_view id) const;
  std::uint64_t last() const { return last_; }

  // Returns the first message of a stream: its number, so that a stream that ends before its first
  // change is continued from here.
  std::string begin() const;
  // Returns a message that tells a viewer to read a list again.
  std::string resync(std::string_view topic) const;
  // Returns the last message of a stream.
  static std::string end(std::string_view reason);

 private:
  void push(std::string_view topic, const std::string& event, const std::string& data);
  std::string idOf(std::uint64_t number) const;

  std::string epoch_;
  std::size_t max_bytes_;
  std::deque<TopicChange> changes_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace divvy::console
