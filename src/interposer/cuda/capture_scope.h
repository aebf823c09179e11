// The library's own driver calls while the application may be capturing a stream.
#pragma once

#include "loader/driver_table.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

// Returns whether a stream capture began at some time in this process, or a grant is active.
bool needsRelaxedCapture();

// Within its scope, calls that are unsafe during a capture neither fail nor invalidate a capture of
// any thread (CUDA's relaxed mode). Costs two loads before the first capture. Under a grant it is
// always active. The library makes so many calls that the first capture would often begin between
// the check and the call.
class RelaxedCapture {
 public:
  RelaxedCapture() : active_(needsRelaxedCapture()) {
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

// Returns whether work for the stream goes into a graph instead of to the device. Also true if the
// driver returns no state; it will refuse such work. To be called while captures are open.
inline bool mayBeCapturing(CUstream stream, bool per_thread) {
  const DriverCallScope inside;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = per_thread ? real<abi::Cu::cuStreamIsCapturing_ptsz>()(stream, &status)
                                     : real<abi::Cu::cuStreamIsCapturing>()(stream, &status);
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace divvy::interposer
