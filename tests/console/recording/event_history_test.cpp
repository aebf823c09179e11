#include "recording/event_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "recorded_history.h"

namespace divvy::console {
namespace {

ClusterEvent eventOf(const std::string& uid, std::int64_t time_ms) {
  return {uid, "lab", "train-0", "FailedScheduling", "no room", "divvy-scheduler", time_ms};
}

class EventHistoryTest : public RecordedHistory {
 protected:
  std::vector<ClusterEvent> merged(EventHistory& keeper, std::vector<ClusterEvent> events) {
    ClusterReading reading;
    reading.events = std::move(events);
    keeper.merge(reading);
    return std::move(reading.events);
  }
  std::size_t stored() {
    EXPECT_TRUE(store_.flush());
    history::EventQuery all;
    all.limit = history::kMaxPage;
    return store_.events(all)->size();
  }
};

// Regression: the API server deletes Events after an hour, and a new console did not know them.
TEST_F(EventHistoryTest, NewConsole_HasEarlierEvents) {
  EventHistory first(store_);
  EXPECT_EQ(merged(first, {eventOf("b", kNow + 2), eventOf("a", kNow + 1)}).size(), 2u);
  EXPECT_EQ(stored(), 2u);
  EventHistory second(store_);
  const std::vector<ClusterEvent> events = merged(second, {eventOf("c", kNow + 3)});
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].uid, "a") << "newest last";
  EXPECT_EQ(events[0].namespace_name, "lab");
  EXPECT_EQ(events[0].pod, "train-0");
  EXPECT_EQ(events[0].reason, "FailedScheduling");
  EXPECT_EQ(events[0].text, "no room");
  EXPECT_EQ(events[0].actor, "divvy-scheduler");
  EXPECT_EQ(events[0].time_ms, kNow + 1);
  EXPECT_EQ(events[2].uid, "c");
  EXPECT_EQ(stored(), 3u);
}

TEST_F(EventHistoryTest, SameEvents_StoredOnce) {
  EventHistory keeper(store_);
  for (int reading = 0; reading < 3; ++reading) merged(keeper, {eventOf("a", kNow)});
  EXPECT_EQ(stored(), 1u);
  EventHistory next(store_);
  merged(next, {eventOf("a", kNow)});
  EXPECT_EQ(stored(), 1u);
}

TEST_F(EventHistoryTest, EventOccursAgain_OneRowWithNewestTime) {
  EventHistory keeper(store_);
  merged(keeper, {eventOf("a", kNow)});
  EXPECT_EQ(merged(keeper, {eventOf("a", kNow + 5000)}).size(), 1u);
  EXPECT_EQ(stored(), 2u);
  EventHistory next(store_);
  const std::vector<ClusterEvent> events = merged(next, {});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].time_ms, kNow + 5000);
}

TEST_F(EventHistoryTest, ManyEvents_OldestLeave) {
  EventHistory keeper(store_);
  std::vector<ClusterEvent> many;
  for (std::size_t at = 0; at < EventHistory::kMaxEvents + 10; ++at)
    many.push_back(eventOf("uid-" + std::to_string(at), kNow + static_cast<std::int64_t>(at)));
  const std::vector<ClusterEvent> events = merged(keeper, many);
  ASSERT_EQ(events.size(), EventHistory::kMaxEvents);
  EXPECT_EQ(events.front().time_ms, kNow + 10);
}

// Events of agents, as a machine's console keeps them, are in a file of their own.
TEST_F(EventHistoryTest, OtherEvents_LeftOut) {
  history::Event other;
  other.time = history::Instant(history::Span(kNow));
  other.kind = "given";
  store_.append(other);
  ASSERT_TRUE(store_.flush());
  EventHistory keeper(store_);
  EXPECT_TRUE(merged(keeper, {}).empty());
}

}  // namespace
}  // namespace divvy::console
