// How many captures of streams are open.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread. A capture counts from before the driver is asked
// to begin it until after it ended, or its stream or context did.
class CaptureTracker {
 public:
  // True while one may be open: then whoever launches has to ask about the stream.
  bool open() const { return open_.load(std::memory_order_acquire) != 0; }

  // Before the driver is asked, and what it answered. `stream` is only a name; `context` is the
  // stream's.
  void beginning() { open_.fetch_add(1, std::memory_order_acq_rel); }
  void begun(CUstream stream, CUcontext context);
  void failed() { open_.fetch_sub(1, std::memory_order_acq_rel); }

  // The capture that began on this stream is over.
  void ended(CUstream stream);
  // The context is gone, and all its streams.
  void contextEnded(CUcontext context);

  void forgetAfterFork();

 private:
  // One that finds no room here stays counted for ever, which costs a question per launch.
  static constexpr unsigned kMax = 64;
  struct Entry {
    std::atomic<std::uint32_t> state{0};  // 0 free, 1 changing hands, 2 taken
    CUstream stream = nullptr;
    CUcontext context = nullptr;
  };

  template <typename Matches>
  void drop(bool all, Matches matches);

  std::atomic<std::uint32_t> open_{0};
  Entry entries_[kMax] = {};
};

}  // namespace divvy::interposer
