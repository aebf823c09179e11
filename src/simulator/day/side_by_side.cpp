#include "day/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace divvy::simulator {
namespace {

constexpr auto kBetweenReports = std::chrono::milliseconds(100);

// What the threads share: which job is next, how many are done, and what went wrong first.
class Pool {
 public:
  Pool(std::size_t count, const std::function<Result<void>(std::size_t)>& job)
      : count_(count), job_(job) {}

  Result<void> run(unsigned threads, const Progress& progress) {
    working_ = threads;
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    while (working_ > 0) {
      changed_.wait_for(lock, kBetweenReports, [&] { return working_ == 0; });
      const std::size_t done = done_;
      lock.unlock();
      progress(done, count_);
      lock.lock();
    }
    progress(done_, count_);
    return error_ ? Result<void>(*error_) : Result<void>();
  }

 private:
  void work() {
    for (std::size_t at = next_++; at < count_ && !failed_; at = next_++) {
      const Result<void> result = job_(at);
      const std::lock_guard lock(mutex_);
      ++done_;
      if (result) continue;
      failed_ = true;
      if (!error_) error_ = result.error();
    }
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_all();
  }

  std::size_t count_;
  const std::function<Result<void>(std::size_t)>& job_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned working_ = 0;
  std::size_t done_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<void> sideBySide(std::size_t count, unsigned threads,
                        const std::function<Result<void>(std::size_t)>& job,
                        const Progress& progress) {
  const std::size_t most = std::max<std::size_t>(count, 1);
  return Pool(count, job)
      .run(static_cast<unsigned>(std::clamp<std::size_t>(threads, 1, most)), progress);
}

}  // namespace divvy::simulator
