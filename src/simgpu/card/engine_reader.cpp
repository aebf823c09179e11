#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "card/engine_file.h"
#include "simgpu/interval_reader.h"

namespace divvy::simgpu {
namespace {

constexpr int kTries = 1000;
constexpr std::size_t kReadable = offsetof(EngineFileLayout, state) + offsetof(TimelineState, ops);

Interval intervalOf(const IntervalRecord& record) {
  return {.pid = static_cast<int>(record.pid),
          .context = record.context_uid,
          .engine = static_cast<CardEngine>(record.engine),
          .work = static_cast<CardWork>(record.kind),
          .start_ns = record.start_ns,
          .end_ns = record.end_ns,
          .bytes = record.bytes,
          .ops = record.ops};
}

// Calls copy(next) until the log did not change meanwhile. Returns whether that happened.
template <typename Copy>
bool copyQuietly(const IntervalLog& log, Copy copy) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t before = log.generation.load(std::memory_order_acquire);
    if (before % 2 == 0) {
      copy(log.next);
#ifndef __SANITIZE_THREAD__  // it does not support fences
      std::atomic_thread_fence(std::memory_order_acquire);
#endif
      if (log.generation.load(std::memory_order_relaxed) == before) return true;
    }
    sched_yield();
  }
  return false;
}

const EngineFileLayout* mapLog(const std::string& dir, int index) {
  const int fd = open(engineFilePath(dir, index).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return nullptr;
  struct stat info {};
  void* at = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(sizeof(EngineFileLayout))) {
    at = mmap(nullptr, kReadable, PROT_READ, MAP_SHARED, fd, 0);
  }
  close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<const EngineFileLayout*>(at);
}

void unmapLog(const void* file) {
  if (file != nullptr) munmap(const_cast<void*>(file), kReadable);
}

}  // namespace

std::optional<IntervalView> readIntervals(const std::string& dir, int index) {
  const EngineFileLayout* file = mapLog(dir, index);
  if (file == nullptr) return std::nullopt;
  const IntervalLog& log = file->state.log;
  IntervalView view{};
  const bool quiet = copyQuietly(log, [&](std::uint64_t next) {
    view.horizon_ns = log.horizon;
    view.dropped = next > kLogRecords ? next - kLogRecords : 0;
    view.intervals.clear();
    for (std::uint64_t i = view.dropped; i < next; ++i) {
      view.intervals.push_back(intervalOf(log.ring[i % kLogRecords]));
    }
  });
  unmapLog(file);
  if (!quiet) return std::nullopt;
  return view;
}

IntervalFollower::IntervalFollower(std::string dir, int index)
    : dir_(std::move(dir)), index_(index) {}

IntervalFollower::~IntervalFollower() {
  unmapLog(file_);
}

bool IntervalFollower::update() {
  if (file_ == nullptr) file_ = mapLog(dir_, index_);
  if (file_ == nullptr) return false;
  const IntervalLog& log = static_cast<const EngineFileLayout*>(file_)->state.log;
  // Records that end at the horizon or later may have grown, so they are read again.
  const std::size_t kept = unfinished_;
  const std::uint64_t wanted = next_ - (view_.intervals.size() - kept);
  std::uint64_t from = 0;
  std::uint64_t end = 0;
  Nanos horizon = 0;
  std::vector<Interval> fresh;
  const bool quiet = copyQuietly(log, [&](std::uint64_t next) {
    end = next;
    horizon = log.horizon;
    from = std::max(wanted, next > kLogRecords ? next - kLogRecords : 0);
    fresh.clear();
    for (std::uint64_t i = from; i < next; ++i) {
      fresh.push_back(intervalOf(log.ring[i % kLogRecords]));
    }
  });
  if (!quiet) return false;
  view_.dropped += from - wanted;
  view_.horizon_ns = horizon;
  view_.intervals.resize(kept);
  view_.intervals.insert(view_.intervals.end(), fresh.begin(), fresh.end());
  next_ = end;
  while (unfinished_ < view_.intervals.size() && view_.intervals[unfinished_].end_ns < horizon) {
    ++unfinished_;
  }
  return true;
}

std::uint64_t busyWithin(const IntervalView& view, int pid, CardEngine engine,
                         std::uint64_t from_ns, std::uint64_t to_ns) {
  std::uint64_t busy = 0;
  for (const Interval& interval : view.intervals) {
    if (interval.engine != engine || (pid != 0 && interval.pid != pid)) continue;
    const std::uint64_t start = std::max(interval.start_ns, from_ns);
    const std::uint64_t end = std::min(interval.end_ns, to_ns);
    if (start < end) busy += end - start;
  }
  return busy;
}

}  // namespace divvy::simgpu
