#include "live/topic_log.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

namespace bj = boost::json;

SharedRow made(Row row) {
  return sharedRow(std::move(row), {});
}

// What a list has, wherever its rows are.
std::map<std::string, Row> membersOf(const SharedRows& rows) {
  std::map<std::string, Row> members;
  for (const auto& [id, row] : rows) members[id] = row->members();
  return members;
}

SharedRows& rowsOf(ConsoleView& view, std::string_view topic) {
  if (topic == "nodes") return view.nodes;
  if (topic == "devices") return view.devices;
  if (topic == "shares") return view.shares;
  return topic == "waiting" ? view.waiting : view.events;
}

struct Message {
  std::string id, event;
  bj::object data;
};

// Reads one message as a browser does (server-sent events).
Message parsed(const std::string& text) {
  Message message;
  RC_ASSERT(text.ends_with("\n\n"));
  std::size_t at = 0;
  while (at + 1 < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = line.find(": ");
    RC_ASSERT(colon != std::string::npos);
    const std::string field = line.substr(0, colon), value = line.substr(colon + 2);
    RC_ASSERT(field == "id" || field == "event" || field == "data");
    if (field == "id") message.id = value;
    if (field == "event") message.event = value;
    if (field != "data") continue;
    boost::system::error_code fault;
    const bj::value data = bj::parse(value, fault);
    RC_ASSERT(!fault);
    message.data = data.as_object();
  }
  return message;
}

// A page that follows all lists.
struct Follower {
  ConsoleView rows;
  std::uint64_t number = 0;

  void apply(const Message& message, ConsoleView& present) {
    const std::string topic(message.data.at("topic").get_string());
    if (message.event == "resync") {
      if (topic == "overview")
        rows.overview = present.overview;
      else
        rowsOf(rows, topic) = rowsOf(present, topic);
      return;
    }
    RC_ASSERT(message.event == "delta");
    for (const bj::value& row : message.data.at("put").as_array()) {
      if (topic == "overview")
        rows.overview = made(row.as_object());
      else
        rowsOf(rows, topic)[std::string(row.at("id").as_string())] = made(row.as_object());
    }
    for (const bj::value& id : message.data.at("drop").as_array())
      rowsOf(rows, topic).erase(std::string(id.as_string()));
  }
};

ConsoleView anyView(std::int64_t data_ms) {
  ConsoleView view;
  view.data_ms = data_ms;
  view.overview = made(Row{{"id", "overview"}, {"waiting", *rc::gen::inRange(0, 3)}});
  for (const std::string_view topic : topics()) {
    if (topic == "overview") continue;
    for (const char* id : {"studio/1", "quote\" \n", "\xD7\xA9", "d"}) {
      const int value = *rc::gen::inRange(0, 5);
      // Now and then a list changes by more than a message holds.
      const std::string note =
          value == 4 && *rc::gen::inRange(0, 4) == 0 ? std::string(kMaxDelta, 'x') : "line\nbreak";
      if (value > 0) rowsOf(view, topic)[id] = made(Row{{"id", id}, {"v", value}, {"note", note}});
    }
  }
  return view;
}

RC_GTEST_PROP(TopicLog, FollowerFromAnyView_HasRowsOfLastView, ()) {
  TopicLog log("7");
  std::vector<ConsoleView> views{anyView(1)};
  std::vector<std::uint64_t> numbers{log.last()};
  const int count = *rc::gen::inRange(1, 7);
  for (int i = 0; i < count; ++i) {
    views.push_back(anyView(*rc::gen::inRange(1, 3)));
    log.append(views[views.size() - 2], views.back());
    numbers.push_back(log.last());
  }
  for (std::size_t from = 0; from < views.size(); ++from) {
    Follower follower{views[from], numbers[from]};
    const auto changes = log.since(numbers[from]);
    RC_ASSERT(changes.has_value());
    for (const TopicChange* change : *changes) {
      const Message message = parsed(change->message);
      RC_ASSERT(message.data.at("topic").get_string() == change->topic);
      RC_ASSERT(log.numberOf(message.id) == change->number);
      RC_ASSERT(change->number == ++follower.number);
      follower.apply(message, views.back());
    }
    ConsoleView& last = views.back();
    RC_ASSERT(follower.number == log.last());
    RC_ASSERT(follower.rows.overview->members() == last.overview->members());
    for (const std::string_view topic : topics()) {
      if (topic != "overview")
        RC_ASSERT(membersOf(rowsOf(follower.rows, topic)) == membersOf(rowsOf(last, topic)));
    }
  }
}

ConsoleView viewOf(int value, std::size_t note_size = 0) {
  ConsoleView view;
  view.data_ms = value;
  view.overview = made(Row{{"id", "overview"}, {"v", value}});
  view.shares["s"] = made(Row{{"id", "s"}, {"v", value}, {"note", std::string(note_size, 'x')}});
  return view;
}

TEST(TopicLog, EqualViews_NoMessage) {
  TopicLog log("7");
  log.append(viewOf(1), viewOf(1));
  EXPECT_EQ(log.last(), 0u);
  const auto none = log.since(0);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST(TopicLog, ManyMessages_OldOnesDropped) {
  TopicLog log("7");
  for (int i = 0; log.last() <= TopicLog::kMaxMessages + 10; ++i)
    log.append(viewOf(i), viewOf(i + 1));
  EXPECT_FALSE(log.since(0));
  EXPECT_FALSE(log.since(log.last() - TopicLog::kMaxMessages - 1));
  const auto all = log.since(log.last() - TopicLog::kMaxMessages);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), TopicLog::kMaxMessages);
  EXPECT_TRUE(log.since(log.last())->empty());
  EXPECT_FALSE(log.since(log.last() + 1)) << "it was never sent";
  EXPECT_FALSE(log.since(~std::uint64_t{0}));
}

TEST(TopicLog, LargeMessages_BytesBounded) {
  TopicLog log("7");
  const std::size_t size = kMaxDelta - 1000;
  for (int i = 0; i < 300; ++i) log.append(viewOf(i, size), viewOf(i + 1, size));
  std::uint64_t first = 0;
  while (!log.since(first)) ++first;
  std::size_t bytes = 0;
  const auto kept = log.since(first);
  for (const TopicChange* change : *kept) bytes += change->message.size();
  EXPECT_LE(bytes, TopicLog::kMaxBytes);
  EXPECT_GT(bytes, TopicLog::kMaxBytes / 2);
}

TEST(TopicLog, LargeDelta_Resync) {
  TopicLog log("7");
  log.append(viewOf(1), viewOf(2, kMaxDelta));
  const auto changes = log.since(0);
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ((*changes)[1]->topic, "shares");
  EXPECT_NE((*changes)[1]->message.find("event: resync\ndata: {\"topic\":\"shares\"}\n\n"),
            std::string::npos);
}

TEST(TopicLog, IdsOfOthers_Nothing) {
  TopicLog log("7");
  log.append(viewOf(1), viewOf(2));
  EXPECT_EQ(log.numberOf("7-1"), 1u);
  EXPECT_EQ(log.numberOf("7-0"), 0u);
  for (const char* id : {"", "7", "7-", "8-1", "77-1", "-1", "7--1", "7- 1", "7-1 ", "7-+1",
                         "7-0x1", "7-1,7-2", "7-18446744073709551616", "7-1\n", "\xff"})
    EXPECT_FALSE(log.numberOf(id)) << id;
}

// Bytes of a tenant that are no UTF-8 would end the browser's stream with an error.
TEST(TopicLog, InvalidUtf8_MessageIsJson) {
  TopicLog log("7");
  ConsoleView after = viewOf(1);
  Row row = after.shares["s"]->members();
  row["note"] = std::string("a\xff\xc3\0b\xed\xa0\x80 \xe2\x82", 12);
  after.shares["s"] = made(std::move(row));
  log.append(viewOf(1), after);
  const auto changes = log.since(0);
  ASSERT_EQ(changes->size(), 1u);
  const std::string& text = changes->front()->message;
  const std::size_t from = text.find("data: ") + 6;
  boost::system::error_code fault;
  bj::parse(text.substr(from, text.size() - from - 2), fault);
  EXPECT_FALSE(fault) << text;
}

}  // namespace
}  // namespace divvy::console
