// Stores whose process is killed, and whose disk is full.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "base/rng.h"
#include "store_fixture.h"

namespace divvy::history {
namespace {

// One simulated minute: a value, usage and an event, written before the next one.
bool writeMinute(Store& store, TestClock& clock, std::int64_t minute) {
  const Instant from = kBegin + minute * kMinute;
  put(store, clock, from, gauge(store, "a"), minute);
  store.addUsage({"s", "d", 1, from, from + kMinute, 100, 50, 250, 1'000, 2, 1});
  store.append(Event{from, "change", "o", "a", std::to_string(minute), ""});
  return store.flush().has_value();
}

std::int64_t secondsOf(const Store& store) {
  UsageAmounts sum;
  EXPECT_TRUE(store.usage(0, INT64_MAX, [&](const UsageRow& row) {
    add(sum, row.amounts);
    return true;
  }));
  EXPECT_EQ(sum.promised_byte_seconds, sum.seconds * 100);
  EXPECT_EQ(sum.device_ns * 60, sum.seconds * 1'000);
  return sum.seconds;
}

TEST(StoreFailure, KilledWhileItWrites_KeepsAllThatWasFlushed) {
  TestFolder folder;
  TestClock clock;
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& flushed = *new (page) std::atomic<std::int64_t>(0);
  Rng rng(7);
  for (int kill_count = 0; kill_count < 50; ++kill_count) {
    const std::int64_t until = flushed + 3 + static_cast<std::int64_t>(rng.below(10));
    const pid_t child = fork();
    if (child == 0) {
      TestClock own;
      own.set(clock.now());
      Store store = mustOpen(optionsOf(folder.file(), own));
      for (std::int64_t minute = flushed;; ++minute) {
        if (!writeMinute(store, own, minute)) _exit(1);
        flushed = minute + 1;
      }
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (flushed < until && std::chrono::steady_clock::now() < deadline) sched_yield();
    // Anywhere in the next writes.
    const auto then =
        std::chrono::steady_clock::now() + std::chrono::microseconds(rng.below(1'500));
    while (std::chrono::steady_clock::now() < then) {
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    ASSERT_GE(flushed, until);

    clock.set(kBegin + flushed.load() * kMinute);
    const Store store = mustOpen(optionsOf(folder.file(), clock));
    ASSERT_EQ(store.opened().damaged, "");
    const std::int64_t seconds = secondsOf(store);
    ASSERT_EQ(seconds % 60, 0);
    // A write that was not answered may have happened, once for each kill.
    ASSERT_GE(seconds / 60, flushed);
    ASSERT_LE(seconds / 60, flushed + kill_count + 1);
    const auto events = store.events({.limit = 500}).value();
    ASSERT_FALSE(events.empty());
    ASSERT_GE(std::stoll(events.front().event.text) + 1, flushed);
    const auto read = readOne(store, "a", kBegin, kBegin + flushed.load() * kMinute,
                              static_cast<std::size_t>(std::max<std::int64_t>(flushed, 2)));
    ASSERT_EQ(read.tier, flushed > 360 ? Tier::kFiveMinutes : Tier::kMinute);
    for (std::size_t at = 0; read.tier == Tier::kMinute && at < read.times.size(); ++at) {
      ASSERT_EQ(read.columns[0].mean[at], static_cast<std::int64_t>(at));
    }
  }
  munmap(page, 4096);
}

TEST(StoreFailure, MoreThanMaxBytes_OldestRowsGiveWay) {
  TestClock clock;
  TestFolder folder;
  StoreOptions options = optionsOf(folder.file(), clock);
  options.max_bytes = kMinBytes;
  Store store = mustOpen(options);
  const std::string text(8'000, 'x');
  for (int at = 0; at < 2'000; ++at) {
    clock.set(kBegin + at * kMinute);
    store.append(Event{clock.now(), "change", "o", "a", text, ""});
    store.addUsage({"s", "d", 1, clock.now(), clock.now() + kMinute, 1, 1, 1, 1, 1, 1});
    const bool is_flush = at % 20 == 0;
    ASSERT_TRUE(!is_flush || store.flush()) << store.status().message;
    ASSERT_LE(store.status().size, kMinBytes);
  }
  EXPECT_TRUE(store.flush());
  EXPECT_GT(store.status().pruned_rows, 1'000);
  // The newest event is there, and so is all usage.
  EXPECT_EQ(store.events({.limit = 1}).value().at(0).event.time, clock.now());
  std::int64_t seconds = 0;
  ASSERT_TRUE(store.usage(0, INT64_MAX, [&](const UsageRow& row) {
    seconds += row.amounts.seconds;
    return true;
  }));
  EXPECT_EQ(seconds, 2'000 * 60);
}

// Limits what this process may write to a file, as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit before_{};
  void (*old_handler_)(int) = SIG_DFL;
};

TEST(StoreFailure, DiskIsFull_AnswersAndWritesLater) {
  TestClock clock;
  TestFolder folder;
  Store store = mustOpen(optionsOf(folder.file(), clock));
  ASSERT_TRUE(writeMinute(store, clock, 0));
  {
    const FileSizeLimit limit(64 << 10);
    std::int64_t minute = 1;
    while (minute < 2'000 && writeMinute(store, clock, minute)) ++minute;
    ASSERT_LT(minute, 2'000);
    const StoreStatus status = store.status();
    EXPECT_EQ(status.state, WriteState::kDiskFull);
    EXPECT_NE(status.message.find("no room"), std::string::npos) << status.message;
    // What was written is read, and what comes is kept.
    EXPECT_FALSE(store.events({.limit = 5}).value().empty());
    EXPECT_TRUE(readOne(store, "a", kBegin, kBegin + kHour, 12).columns.at(0).known);
    for (int more = 1; more <= 5; ++more) EXPECT_FALSE(writeMinute(store, clock, minute + more));
  }
  ASSERT_TRUE(store.flush()) << store.status().message;
  EXPECT_EQ(store.status().state, WriteState::kWriting);
  EXPECT_EQ(store.status().message, "");
  EXPECT_EQ(store.status().dropped_rows, 0);
  // Each minute counts once, also those whose write failed first.
  const std::int64_t minutes = (clock.now() - kBegin) / kMinute + 1;
  EXPECT_EQ(secondsOf(store), minutes * 60);
  EXPECT_EQ(store.events({.limit = 1}).value().at(0).event.text, std::to_string(minutes - 1));
}

}  // namespace
}  // namespace divvy::history
