// A folder, a clock and a store for a test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "history/store.h"

namespace divvy::history {

inline constexpr Span kSecond{1'000};
inline constexpr Span kMinute{60'000};
inline constexpr Span kHour{3'600'000};
inline constexpr Span kDay = 24 * kHour;
// 2026-01-01T00:00:00Z, the start of an hour and of a half day.
inline constexpr Instant kBegin{Span(1'767'225'600'000)};

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "history-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file() const { return (path_ / "history.db").string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Stands until the test moves it. Outlives its stores.
class TestClock {
 public:
  Instant now() const { return Instant(Span(ms_.load())); }
  void set(Instant time) { ms_ = time.time_since_epoch().count(); }
  Clock clock() {
    return [this] { return now(); };
  }

 private:
  std::atomic<std::int64_t> ms_{kBegin.time_since_epoch().count()};
};

// Opens the store, or ends the test.
inline Store mustOpen(StoreOptions options) {
  auto opened = Store::open(std::move(options));
  if (!opened) {
    ADD_FAILURE() << opened.error().message();
    std::abort();
  }
  return std::move(*opened);
}

inline StoreOptions optionsOf(const std::string& path, TestClock& clock) {
  StoreOptions options;
  options.path = path;
  options.max_bytes = mib(64);
  options.clock = clock.clock();
  return options;
}

inline SeriesKey keyOf(const std::string& object, const std::string& metric = "memory_used_bytes") {
  return {"share", object, metric};
}

inline SeriesId gauge(Store& store, const std::string& object) {
  return store.series(keyOf(object), SeriesType::kGauge).value();
}

// Moves the clock to the time and adds a value of it.
inline void put(Store& store, TestClock& clock, Instant time, SeriesId id, std::int64_t value) {
  clock.set(time);
  const Sample sample{id, value};
  store.append(time, {&sample, 1});
}

using Values = std::vector<std::optional<std::int64_t>>;

inline SeriesColumns readOne(const Store& store, const std::string& object, Instant from,
                             Instant to, std::size_t max_points) {
  const SeriesKey key = keyOf(object);
  auto read = store.read({&key, 1}, {from, to, max_points});
  if (!read) {
    ADD_FAILURE() << read.error().message();
    return {};
  }
  return std::move(*read);
}

}  // namespace divvy::history
