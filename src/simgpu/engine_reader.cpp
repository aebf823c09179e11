#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "engine_file.h"
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

std::optional<IntervalView> copyLog(const IntervalLog& log) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t before = log.generation.load(std::memory_order_acquire);
    if (before % 2 == 0) {
      IntervalView view{.horizon_ns = log.horizon, .dropped = 0, .intervals = {}};
      const std::uint64_t next = log.next;
      view.dropped = next > kLogRecords ? next - kLogRecords : 0;
      view.intervals.reserve(next - view.dropped);
      for (std::uint64_t i = view.dropped; i < next; ++i) {
        view.intervals.push_back(intervalOf(log.ring[i % kLogRecords]));
      }
#ifndef __SANITIZE_THREAD__  // which does not know fences
      std::atomic_thread_fence(std::memory_order_acquire);
#endif
      if (log.generation.load(std::memory_order_relaxed) == before) return view;
    }
    sched_yield();
  }
  return std::nullopt;
}

}  // namespace

std::optional<IntervalView> readIntervals(const std::string& dir, int index) {
  const int fd = open(engineFilePath(dir, index).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  struct stat info {};
  void* at = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(sizeof(EngineFileLayout))) {
    at = mmap(nullptr, kReadable, PROT_READ, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (at == MAP_FAILED) return std::nullopt;
  const auto* file = static_cast<const EngineFileLayout*>(at);
  auto view = copyLog(file->state.log);
  munmap(at, kReadable);
  return view;
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
