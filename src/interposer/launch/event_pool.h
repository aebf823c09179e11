// Timing events of one context, kept for use again.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// Any thread; no lock. Calls the driver, in relaxed capture mode of the caller's making.
class EventPool {
 public:
  // An event of the context `owner`, which is made current for a moment if it is not and a new
  // event is needed. nullptr: the driver has none.
  CUevent take(CUcontext owner);
  void give(CUevent event);

  // Gives all that are in here back to the driver; their context still lives.
  void drain();
  // Forgets them without a call.
  void clear();

 private:
  static constexpr unsigned kKept = 128;

  std::atomic<CUevent> events_[kKept] = {};
  std::atomic<unsigned> hint_{0};  // where the last one was given
};

}  // namespace divvy::interposer
