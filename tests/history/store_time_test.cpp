// Stores over long times: restarts, a year, clocks that are set.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "store_fixture.h"

namespace divvy::history {
namespace {

// All that a store answers about the series in the tiers that outlive a process.
std::vector<SeriesColumns> answersOf(const Store& store, Instant now) {
  std::vector<SeriesColumns> answers;
  for (const auto& [back, points] : {std::pair{6 * kHour, std::size_t{360}},
                                     {2 * kDay, std::size_t{576}},
                                     {20 * kDay, std::size_t{480}}}) {
    // 5-second points are not among them, for they end with the process.
    answers.push_back(readOne(store, "a", now - back, now - kMinute, points));
  }
  return answers;
}

void expectEqual(const std::vector<SeriesColumns>& a, const std::vector<SeriesColumns>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t at = 0; at < a.size(); ++at) {
    EXPECT_EQ(a[at].tier, b[at].tier);
    EXPECT_EQ(a[at].times, b[at].times);
    const Values &mean = a[at].columns[0].mean, &other = b[at].columns[0].mean;
    ASSERT_EQ(mean.size(), other.size());
    // A minute with a restart is the mean of two rounded ones.
    for (std::size_t of = 0; of < mean.size(); ++of) {
      ASSERT_EQ(mean[of].has_value(), other[of].has_value()) << at << ", " << of;
      ASSERT_NEAR(static_cast<double>(mean[of].value_or(0)),
                  static_cast<double>(other[of].value_or(0)), 1.0);
    }
    EXPECT_EQ(a[at].columns[0].max, b[at].columns[0].max) << at;
  }
}

// Writes random values over three days; `restarts`: closes and opens the store at random times.
std::vector<SeriesColumns> randomDays(std::uint64_t seed, bool restarts) {
  TestClock clock;
  TestFolder folder;
  Rng values(seed), ends(seed + 1);
  // A series without a value for a day is forgotten: it begins with the first one.
  Instant now = kBegin + 20 * kDay;
  clock.set(now);
  auto store = std::make_unique<Store>(mustOpen(optionsOf(folder.file(), clock)));
  SeriesId id = gauge(*store, "a");
  const Instant end = now + 3 * kDay;
  while (now < end) {
    now +=
        values.below(60) == 0 ? Span(values.below(6'000'000)) : Span(15'000 + values.below(30'000));
    const auto value = static_cast<std::int64_t>(values.below(1'000));
    if (restarts && ends.below(100) == 0) {
      store.reset();
      // Sometimes the process is away for a while.
      clock.set(now - Span(1));
      store = std::make_unique<Store>(mustOpen(optionsOf(folder.file(), clock)));
      EXPECT_EQ(store->opened().damaged, "");
      id = gauge(*store, "a");
    }
    put(*store, clock, now, id, value);
    const bool is_flush = values.below(500) == 0;
    EXPECT_TRUE(!is_flush || store->flush());
  }
  EXPECT_EQ(store->status().late_samples, 0);
  clock.set(end);
  EXPECT_TRUE(store->flush());
  return answersOf(*store, end);
}

TEST(StoreTime, Restarts_AnswersAsWithoutThem) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    expectEqual(randomDays(seed, false), randomDays(seed, true));
}

TEST(StoreTime, RestartWithinAMinute_NothingLost) {
  TestClock clock;
  TestFolder folder;
  for (int second = 0; second < 60; second += 5) {
    clock.set(kBegin + second * kSecond);
    Store store = mustOpen(optionsOf(folder.file(), clock));
    put(store, clock, kBegin + second * kSecond, gauge(store, "a"), second);
  }
  clock.set(kBegin + 2 * kMinute);
  const Store store = mustOpen(optionsOf(folder.file(), clock));
  const auto read = readOne(store, "a", kBegin, kBegin + kMinute, 2);
  ASSERT_EQ(read.tier, Tier::kMinute);
  // The mean of 0, 5, ... 55 is 27.5; each restart rounds the mean so far.
  EXPECT_NEAR(static_cast<double>(read.columns[0].mean[0].value()), 27.5, 2.0);
  EXPECT_EQ(read.columns[0].max[0], 55);
}

std::int64_t valueAt(std::int64_t minute) {
  return minute % 60 + minute / 60 % 24 * 1'000;
}
bool isGap(std::int64_t minute) {
  return minute / 1'440 % 10 == 9;
}

TEST(StoreTime, MoreThanAYear_TiersAndSizeAsPromised) {
  TestClock clock;
  TestFolder folder;
  constexpr std::int64_t kMinutes = 420 * 1'440;
  Store store = mustOpen(optionsOf(folder.file(), clock));
  SeriesId id = gauge(store, "a");
  for (std::int64_t minute = 0; minute < kMinutes; ++minute) {
    const Instant now = kBegin + minute * kMinute;
    if (minute % 1'440 == 0) {
      clock.set(now);
      ASSERT_TRUE(store.flush());
      id = gauge(store, "a");
      store.addUsage({"s", "d", 1, now, now + kMinute, 1, 1, 1, 1, 1, 1});
      store.append(Event{now, "change", "o", "a", "t", ""});
    }
    if (!isGap(minute)) put(store, clock, now, id, valueAt(minute));
  }
  const Instant end = kBegin + kMinutes * kMinute;
  clock.set(end);
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(store.status().late_samples, 0);
  EXPECT_LT(store.status().size, mib(2));

  // Hours of the last 400 days: of the hour h the mean is h * 1000 + 29.5.
  const auto hours = readOne(store, "a", end - 400 * kDay, end, 9'600);
  ASSERT_EQ(hours.tier, Tier::kHour);
  ASSERT_EQ(hours.times.size(), 9'600u);
  for (std::size_t at = 0; at < hours.times.size(); ++at) {
    const std::int64_t minute = (hours.times[at] - kBegin) / kMinute;
    const std::int64_t base = minute / 60 % 24 * 1'000;
    ASSERT_EQ(hours.columns[0].mean[at].has_value(), !isGap(minute)) << minute;
    if (isGap(minute)) continue;
    ASSERT_NEAR(static_cast<double>(*hours.columns[0].mean[at]), static_cast<double>(base) + 29.5,
                0.51);
    ASSERT_EQ(hours.columns[0].max[at], base + 59);
  }
  // 5-minute points of the last 14 days.
  const auto fives = readOne(store, "a", end - 14 * kDay, end, 14 * 288);
  ASSERT_EQ(fives.tier, Tier::kFiveMinutes);
  for (std::size_t at = 0; at < fives.times.size(); ++at) {
    const std::int64_t minute = (fives.times[at] - kBegin) / kMinute;
    ASSERT_EQ(fives.columns[0].mean[at].has_value(), !isGap(minute));
    if (isGap(minute)) continue;
    ASSERT_EQ(fives.columns[0].mean[at], valueAt(minute) + 2);
  }
  // Events, usage and points before that are gone.
  EXPECT_GE(store.status().oldest.value(), end - 401 * kDay);
  EXPECT_EQ(store.events({.to = end - 401 * kDay}).value().size(), 0u);
  ASSERT_TRUE(store.usage(0, hourOf(end - 401 * kDay), [](const UsageRow& row) {
    ADD_FAILURE() << row.key.hour;
    return true;
  }));
}

TEST(StoreTime, ClockSetToAFarYearAndBack_NothingRemoved) {
  TestClock clock;
  TestFolder folder;
  Store store = mustOpen(optionsOf(folder.file(), clock));
  SeriesId id = gauge(store, "a");
  for (int minute = 0; minute < 180; ++minute)
    put(store, clock, kBegin + minute * kMinute, id, minute);
  const Instant now = kBegin + 3 * kHour;
  clock.set(now + 30 * 365 * kDay);
  ASSERT_TRUE(store.flush());
  clock.set(now + 30 * 365 * kDay + 2 * kMinute);
  ASSERT_TRUE(store.flush());
  clock.set(now);
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(store.status().clock_jumps, 2);
  for (int minute = 0; minute < 30; ++minute) {
    id = gauge(store, "a");
    put(store, clock, now + minute * kMinute, id, minute);
  }
  ASSERT_TRUE(store.flush());
  const auto read = readOne(store, "a", kBegin, now, 36);
  ASSERT_EQ(read.tier, Tier::kFiveMinutes);
  for (std::size_t at = 0; at < 36; ++at)
    EXPECT_EQ(read.columns[0].mean.at(at), static_cast<std::int64_t>(at) * 5 + 2) << at;
}

TEST(StoreTime, ClockGoesBackMinutes_SamplesDroppedUntilThen) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  const SeriesId id = gauge(store, "a");
  put(store, clock, kBegin + 30 * kMinute, id, 1);
  put(store, clock, kBegin + 20 * kMinute, id, 2);
  EXPECT_EQ(store.status().late_samples, 1);
  put(store, clock, kBegin + 31 * kMinute, id, 3);
  EXPECT_EQ(store.status().late_samples, 1);
  EXPECT_EQ(store.status().clock_jumps, 0);
}

}  // namespace
}  // namespace divvy::history
