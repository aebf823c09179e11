#include "live/topic_log.h"

#include <charconv>

#include <boost/json.hpp>

#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
std::string message(const std::string& id, const std::string& event, const std::string& data) {
  return (id.empty() ? std::string() : "id: " + id + "\n") + "event: " + event + "\ndata: " + data +
         "\n\n";
}

}  // namespace

const std::vector<std::string_view>& topics() {
  static const std::vector<std::string_view> names{"overview", "nodes",  "devices",   "shares",
                                                   "waiting",  "events", "workloads", "queues",
                                                   "pools",    "teams",  "models"};
  return names;
}

std::string TopicLog::idOf(std::uint64_t number) const {
  return epoch_ + "-" + std::to_string(number);
}

void TopicLog::push(std::string_view topic, const std::string& event, const std::string& data) {
  ++last_;
  changes_.push_back({last_, topic, message(idOf(last_), event, data)});
  bytes_ += changes_.back().message.size();
  while (changes_.size() > kMaxMessages || bytes_ > max_bytes_) {
    bytes_ -= changes_.front().message.size();
    changes_.pop_front();
  }
}

void TopicLog::append(const std::vector<ViewChange>& changes) {
  for (const ViewChange& change : changes)
    push(change.topic, change.resync ? "resync" : "delta", change.data);
}

void TopicLog::skip() {
  changes_.clear();
  bytes_ = 0;
  ++last_;
}

void TopicLog::append(const ConsoleView& before, const ConsoleView& after) {
  append(changesBetween(before, after).list);
}

std::optional<std::vector<const TopicChange*>> TopicLog::since(std::uint64_t number) const {
  const std::uint64_t first = changes_.empty() ? last_ + 1 : changes_.front().number;
  if (number > last_ || number + 1 < first) return std::nullopt;
  std::vector<const TopicChange*> found;
  for (const TopicChange& change : changes_) {
    if (change.number > number) found.push_back(&change);
  }
  return found;
}

std::optional<std::uint64_t> TopicLog::numberOf(std::string_view id) const {
  if (!id.starts_with(epoch_ + "-")) return std::nullopt;
  const std::string_view digits = id.substr(epoch_.size() + 1);
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::string TopicLog::begin() const {
  return "retry: 3000\nid: " + idOf(last_) + "\n\n";
}

std::string TopicLog::resync(std::string_view topic) const {
  return message(idOf(last_), "resync", jsonText(bj::object{{"topic", topic}}));
}

std::string TopicLog::end(std::string_view reason) {
  return message("", "end", jsonText(bj::object{{"reason", reason}}));
}

}  // namespace divvy::console
