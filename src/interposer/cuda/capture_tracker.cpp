#include "cuda/capture_tracker.h"

namespace divvy::interposer {
namespace {

constexpr std::uint32_t kFree = 0;
constexpr std::uint32_t kChanging = 1;
constexpr std::uint32_t kTaken = 2;

}  // namespace

void CaptureTracker::begun(CUstream stream, CUcontext context) {
  for (Entry& entry : entries_) {
    std::uint32_t expected = kFree;
    if (!entry.state.compare_exchange_strong(expected, kChanging, std::memory_order_acquire)) {
      continue;
    }
    entry.stream = stream;
    entry.context = context;
    entry.state.store(kTaken, std::memory_order_release);
    return;
  }
}

template <typename Matches>
void CaptureTracker::drop(bool all, Matches matches) {
  for (Entry& entry : entries_) {
    std::uint32_t expected = kTaken;
    if (entry.state.load(std::memory_order_acquire) != kTaken || !matches(entry) ||
        !entry.state.compare_exchange_strong(expected, kFree, std::memory_order_acq_rel)) {
      continue;
    }
    open_.fetch_sub(1, std::memory_order_acq_rel);
    if (!all) return;
  }
}

void CaptureTracker::ended(CUstream stream) {
  drop(false, [stream](const Entry& entry) { return entry.stream == stream; });
}

void CaptureTracker::contextEnded(CUcontext context) {
  drop(true, [context](const Entry& entry) { return entry.context == context; });
}

void CaptureTracker::forgetAfterFork() {
  open_.store(0, std::memory_order_relaxed);
  for (Entry& entry : entries_) entry.state.store(kFree, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
