// Driver calls of our own while the application may be capturing a stream.
#pragma once

#include "driver.h"
#include "runtime.h"

namespace divvy::interposer {

// Within its scope calls that are unsafe during a capture neither fail nor invalidate the capture
// of any thread (CUDA's relaxed mode). Costs one load until a capture was ever begun.
class RelaxedCapture {
 public:
  RelaxedCapture() : active_(runtime().captures_begun.load(std::memory_order_relaxed)) {
    if (active_) exchange();
  }
  ~RelaxedCapture() {
    if (active_) exchange();
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  // Puts mode_ in force and keeps the mode that it replaced.
  void exchange() {
    active_ = real<abi::Cu::cuThreadExchangeStreamCaptureMode>()(&mode_) == CUDA_SUCCESS;
  }

  bool active_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace divvy::interposer
