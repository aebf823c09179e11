// The number of open stream captures.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread. A capture counts from before the driver's call
// that begins it until after it ended, or its stream or context did.
class CaptureTracker {
 public:
  // Returns true while a capture may be open; a launching thread then has to check its stream.
  bool open() const { return open_.load(std::memory_order_acquire) != 0; }

  // beginning() precedes the driver's call; begun() or failed() follows, by its result. `stream` is
  // only a name; `context` is the stream's.
  void beginning() { open_.fetch_add(1, std::memory_order_acq_rel); }
  void begun(CUstream stream, CUcontext context);
  void failed() { open_.fetch_sub(1, std::memory_order_acq_rel); }

  // Notes that the capture that began on this stream is over.
  void ended(CUstream stream);
  // Notes that the context was destroyed, with all its streams.
  void contextEnded(CUcontext context);

  void forgetAfterFork();

 private:
  // A capture without room here stays counted for the life of the process, which costs one query
  // per launch.
  static constexpr unsigned kMax = 64;
  struct Entry {
    std::atomic<std::uint32_t> state{0};  // 0 free, 1 changing, 2 taken
    CUstream stream = nullptr;
    CUcontext context = nullptr;
  };

  template <typename Matches>
  void drop(bool all, Matches matches);

  std::atomic<std::uint32_t> open_{0};
  Entry entries_[kMax] = {};
};

}  // namespace divvy::interposer
