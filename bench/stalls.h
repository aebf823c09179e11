// Times in which this machine did not run at all: a hypervisor had taken all of its processors.
// Nothing that a bench measures happened then, so such time is cut out of what is judged.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "judge.h"

namespace divvy::bench {

// In a file that loads map: CLOCK_MONOTONIC nanoseconds lost so far.
struct StallPage {
  std::atomic<std::uint64_t> lost;
};

// Watches every processor that this process may use, from its start to its end.
class StallWatch {
 public:
  // `page`: a file to be made. Throws std::runtime_error.
  explicit StallWatch(std::filesystem::path page);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  const std::filesystem::path& page() const { return path_; }
  // CLOCK_MONOTONIC, ascending. Any thread.
  Spans seen() const;

 private:
  void watch(std::size_t processor, int number);
  void late(std::size_t processor, Span span);

  const std::filesystem::path path_;
  StallPage* page_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::vector<Span> last_;  // per processor: when it was late the last time
  Spans seen_;
  std::vector<std::jthread> threads_;
};

// The part of time that all of `spans` share; start >= end: none.
Span commonOf(const std::vector<Span>& spans);

// `at` less the stalls before it, so that time stands still during them. Both in one clock.
CardTime withoutStalls(CardTime at, const Spans& stalls);
// In order, not overlapping.
Spans withoutStalls(const Spans& spans, const Spans& stalls);

}  // namespace divvy::bench
