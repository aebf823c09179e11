#include "live/topic_log.h"

#include <charconv>

#include <boost/json.hpp>

#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using Rows = std::map<std::string, Row, std::less<>>;

struct Delta {
  bj::array put;
  bj::array drop;
  bool empty() const { return put.empty() && drop.empty(); }
};

Delta deltaOf(const Rows& before, const Rows& after) {
  Delta delta;
  for (const auto& [id, row] : after) {
    const auto old = before.find(id);
    if (old == before.end() || old->second != row) delta.put.push_back(row);
  }
  for (const auto& [id, row] : before) {
    if (!after.contains(id)) delta.drop.push_back(bj::value(id));
  }
  return delta;
}

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
  while (changes_.size() > kMaxMessages || bytes_ > kMaxBytes) {
    bytes_ -= changes_.front().message.size();
    changes_.pop_front();
  }
}

void TopicLog::append(const ConsoleView& before, const ConsoleView& after) {
  const auto send = [&](std::string_view topic, Delta delta) {
    if (delta.empty()) return;
    const std::string data = jsonText(bj::object{{"topic", topic},
                                                 {"data_time_ms", after.data_ms},
                                                 {"put", std::move(delta.put)},
                                                 {"drop", std::move(delta.drop)}});
    if (data.size() > kMaxDelta) {
      push(topic, "resync", jsonText(bj::object{{"topic", topic}}));
    } else {
      push(topic, "delta", data);
    }
  };
  if (before.overview != after.overview || before.data_ms != after.data_ms)
    send("overview", {bj::array{after.overview}, {}});
  send("nodes", deltaOf(before.nodes, after.nodes));
  send("devices", deltaOf(before.devices, after.devices));
  send("shares", deltaOf(before.shares, after.shares));
  send("waiting", deltaOf(before.waiting, after.waiting));
  send("events", deltaOf(before.events, after.events));
  send("workloads", deltaOf(before.workloads, after.workloads));
  send("queues", deltaOf(before.queues, after.queues));
  send("pools", deltaOf(before.pools, after.pools));
  send("teams", deltaOf(before.teams, after.teams));
  send("models", deltaOf(before.models, after.models));
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
