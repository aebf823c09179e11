#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "load/card_time.h"
#include "stalls.h"

namespace divvy::bench {
namespace {

// A processor looks at the clock this often; it was away when it comes that much later.
constexpr auto kLook = std::chrono::milliseconds(1);
constexpr std::uint64_t kLateNs = 4'000'000;

}  // namespace

StallWatch::StallWatch(std::filesystem::path page) : path_(std::move(page)) {
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0 && ftruncate(file, sizeof(StallPage)) == 0) {
    void* at = mmap(nullptr, sizeof(StallPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) page_ = static_cast<StallPage*>(at);
  }
  if (file >= 0) close(file);
  if (page_ == nullptr) throw std::runtime_error("cannot make " + path_.string());
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  last_.resize(static_cast<std::size_t>(CPU_COUNT(&mine)));
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (!CPU_ISSET(number, &mine)) continue;
    threads_.emplace_back(
        [this, processor = threads_.size(), number] { watch(processor, number); });
  }
}

StallWatch::~StallWatch() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  threads_.clear();
  munmap(page_, sizeof(StallPage));
}

void StallWatch::watch(std::size_t processor, int number) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(number, &only);
  sched_setaffinity(0, sizeof only, &only);
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::uint64_t due = monotonicNow() + std::chrono::nanoseconds(kLook).count();
    stop_.wait_for(lock, kLook);
    const std::uint64_t now = monotonicNow();
    if (now > due + kLateNs) late(processor, {due, now});
  }
}

// With the lock. A stall is what all processors missed; the last one to tell completes it.
void StallWatch::late(std::size_t processor, Span span) {
  last_[processor] = span;
  const Span common = commonOf(last_);
  if (common.end <= common.start) return;
  seen_.push_back(common);
  page_->lost.fetch_add(common.end - common.start, std::memory_order_release);
  // What was counted is not counted again, should one of them tell of a later time.
  for (Span& last : last_) last = {};
}

Spans StallWatch::seen() const {
  const std::lock_guard guard(mutex_);
  return seen_;
}

}  // namespace divvy::bench
