// A history in memory with a clock of its own, and readings of one node in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "history/store.h"
#include "recording/recorder.h"

namespace divvy::console {

// The start of an hour.
inline constexpr std::int64_t kNow = 1'764'000'000'000;

class RecordedHistory : public testing::Test {
 protected:
  RecordedHistory() : store_(opened()) {}

  history::Store opened() {
    history::StoreOptions options;
    options.clock = [this] { return history::Instant(history::Span(now_ms_)); };
    Result<history::Store> store = history::Store::open(std::move(options));
    EXPECT_TRUE(store) << store.error().message();
    return std::move(*store);
  }
  void record(const std::vector<NodeReading>& readings) {
    recorder_.record(readings, history::Instant(history::Span(now_ms_)));
  }
  static std::vector<NodeReading> reading(const agent::Snapshot& node) {
    NodeReading reading;
    reading.node = node.node;
    reading.snapshot = node;
    return {reading};
  }

  std::int64_t now_ms_ = kNow;
  history::Store store_;
  Recorder recorder_{store_};
};

}  // namespace divvy::console
