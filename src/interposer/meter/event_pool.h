// Timing events of one context, kept for reuse.
#pragma once

#include <atomic>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// Any thread; no lock. Calls the driver; the caller sets relaxed capture mode.
class EventPool {
 public:
  // Returns an event of the context `owner`. If a new event is needed, that context is made current
  // for the call. Returns nullptr if the driver gives no event.
  CUevent take(CUcontext owner);
  void give(CUevent event);

  // Destroys all events in the pool. Their context must still be alive.
  void drain();
  // Drops all events without a driver call.
  void clear();

 private:
  static constexpr unsigned kKept = 128;

  std::atomic<CUevent> events_[kKept] = {};
  std::atomic<unsigned> hint_{0};  // place of the latest event that was given
};

}  // namespace divvy::interposer
