// Usage, events and objects of a store.
#include <gtest/gtest.h>

#include "store_fixture.h"

namespace divvy::history {
namespace {

UsageAmounts totalOf(const Store& store) {
  UsageAmounts sum;
  EXPECT_TRUE(store.usage(0, INT64_MAX, [&](const UsageRow& row) {
    add(sum, row.amounts);
    return true;
  }));
  return sum;
}

constexpr std::int64_t kDeviceNs = 30'000'000'000;

UsageInterval minuteOf(Instant from, std::int64_t price = 1) {
  return {"share-1", "gpu-1", price, from, from + kMinute, 1'000, 500, 250, kDeviceNs, 7, 3};
}

TEST(StoreUsage, ADayInMinutes_AddsUpExactly) {
  TestClock clock;
  TestFolder folder;
  for (int part = 0; part < 4; ++part) {
    // The store is opened again in the middle of hours.
    Store store = mustOpen(optionsOf(folder.file(), clock));
    for (int minute = part * 360; minute < (part + 1) * 360; ++minute) {
      clock.set(kBegin + 30 * kMinute + (minute + 1) * kMinute);
      EXPECT_TRUE(store.addUsage(minuteOf(kBegin + 30 * kMinute + minute * kMinute)));
    }
  }
  const Store store = mustOpen(optionsOf(folder.file(), clock));
  EXPECT_EQ(totalOf(store), (UsageAmounts{86'400, 1'440 * kDeviceNs, 86'400'000, 43'200'000,
                                          86'400 * 250, 1'440 * 7, 1'440 * 3}));
  int rows = 0;
  ASSERT_TRUE(store.usage(hourOf(kBegin), hourOf(kBegin) + 1, [&](const UsageRow& row) {
    EXPECT_EQ(row.amounts.seconds, 1'800);
    return ++rows != 0;
  }));
  EXPECT_EQ(rows, 1);
}

TEST(StoreUsage, PriceChangesWithinAnHour_TwoRows) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  store.addUsage(minuteOf(kBegin, 1));
  store.addUsage(minuteOf(kBegin + kMinute, 2));
  ASSERT_TRUE(store.flush());
  std::vector<std::int64_t> prices;
  ASSERT_TRUE(store.usage(0, INT64_MAX, [&](const UsageRow& row) {
    prices.push_back(row.key.price);
    return true;
  }));
  EXPECT_EQ(prices, (std::vector<std::int64_t>{1, 2}));
  EXPECT_FALSE(store.addUsage({"s", "d", 0, kBegin, kBegin, 1}));
}

TEST(StoreUsage, CallbackReturnsFalse_Ends) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  for (int hour = 0; hour < 5; ++hour) store.addUsage(minuteOf(kBegin + hour * kHour));
  ASSERT_TRUE(store.flush());
  int rows = 0;
  ASSERT_TRUE(store.usage(0, INT64_MAX, [&](const UsageRow&) { return ++rows < 2; }));
  EXPECT_EQ(rows, 2);
}

TEST(StoreEvents, Pages_EachEventOnceNewestFirst) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  // Several events have the same time.
  for (int at = 0; at < 250; ++at)
    store.append(Event{kBegin + at / 7 * kSecond, at % 2 ? "change" : "error", at % 5 ? "a" : "b",
                       "alice", std::to_string(at), ""});
  ASSERT_TRUE(store.flush());
  EventQuery query{.limit = 33};
  std::vector<StoredEvent> all;
  for (int pages = 0; pages < 20; ++pages) {
    const auto page = store.events(query).value();
    if (page.empty()) break;
    all.insert(all.end(), page.begin(), page.end());
    query.before_id = page.back().id;
    query.before_time = page.back().event.time;
  }
  ASSERT_EQ(all.size(), 250u);
  for (std::size_t at = 0; at < all.size(); ++at)
    EXPECT_EQ(all[at].event.text, std::to_string(249 - at));
  EXPECT_EQ(store.events({.object = "b", .limit = 500}).value().size(), 50u);
  EXPECT_EQ(store.events({.kind = "error", .limit = 500}).value().size(), 125u);
  EXPECT_EQ(store.events({.from = kBegin, .to = kBegin + kSecond}).value().size(), 7u);
}

TEST(StoreEvents, HostileTexts_ComeBackUnchanged) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  const std::string text("\x27; DROP TABLE event; --\n\0<script>\xff", 35);
  store.append(Event{kBegin, text, text, text, text, std::string(20'000, 'j')});
  ASSERT_TRUE(store.flush());
  const auto events = store.events({.object = text}).value();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].event.text, text);
  EXPECT_EQ(events[0].event.json.size(), kMaxEventText);
}

TEST(StoreEvents, MoreThanTheQueueHas_DroppedAndCounted) {
  TestClock clock;
  TestFolder folder;
  Store store = mustOpen(optionsOf(folder.file(), clock));
  for (int at = 0; at < 40'000; ++at)
    store.append(Event{kBegin + Span(at), "change", "", "", "", ""});
  ASSERT_TRUE(store.flush());
  std::size_t kept = 0;
  EventQuery query{.limit = kMaxPage};
  for (auto page = store.events(query).value(); !page.empty(); page = store.events(query).value()) {
    kept += page.size();
    query.before_id = page.back().id;
    query.before_time = page.back().event.time;
  }
  EXPECT_GE(kept, 10'000u);
  EXPECT_EQ(static_cast<std::int64_t>(kept) + store.status().dropped_rows, 40'000);
}

TEST(StoreObjects, SeenAgain_LaterTextsAndWholeTime) {
  TestClock clock;
  TestFolder folder;
  {
    Store store = mustOpen(optionsOf(folder.file(), clock));
    store.see(
        {"u1", "pod", "web-0", "ns", "", "", "Deployment/web", "img", "", kBegin, kBegin + kHour});
    ASSERT_TRUE(store.flush());
    store.see({"u1", "pod", "", "", "red", "q", "", "", "llama", kBegin - kHour, kBegin});
    store.see({"", "pod", "x", "", "", "", "", "", "", kBegin, kBegin});
    EXPECT_EQ(store.status().dropped_rows, 1);
  }
  const Store store = mustOpen(optionsOf(folder.file(), clock));
  const std::vector<std::string> uids{"u1", "u2"};
  const auto objects = store.objects(uids).value();
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].name, "web-0");
  EXPECT_EQ(objects[0].team, "red");
  EXPECT_EQ(objects[0].model, "llama");
  EXPECT_EQ(objects[0].first_seen, kBegin - kHour);
  EXPECT_EQ(objects[0].last_seen, kBegin + kHour);
}

TEST(StoreSeries, SeriesOfAnObject_LiveAndWritten) {
  TestClock clock;
  TestFolder folder;
  {
    Store store = mustOpen(optionsOf(folder.file(), clock));
    put(store, clock, kBegin, store.series(keyOf("a", "x"), SeriesType::kGauge).value(), 1);
  }
  clock.set(kBegin + 5 * kDay);
  Store store = mustOpen(optionsOf(folder.file(), clock));
  ASSERT_TRUE(store.series(keyOf("a", "y"), SeriesType::kGauge));
  ASSERT_TRUE(store.series(keyOf("b", "z"), SeriesType::kGauge));
  EXPECT_EQ(store.seriesOf("share", "a").value(),
            (std::vector<SeriesKey>{keyOf("a", "x"), keyOf("a", "y")}));
}

}  // namespace
}  // namespace divvy::history
