// Copies between a device and host memory that are under way.
#pragma once

#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// A queue of copies, first in, first out, on a stream of its own; of one thread. Who empties it
// has seen every copy arrive.
class CopyPipeline {
 public:
  struct Flight {
    std::uint32_t chunk;    // number
    std::uint32_t segment;  // of the host store
    std::uint64_t bytes;
    CUevent end;  // kept when the flight is over; null: none was needed yet
  };

  CopyPipeline() = default;
  CopyPipeline(const CopyPipeline&) = delete;
  CopyPipeline& operator=(const CopyPipeline&) = delete;

  // In the current context, until close(). False: the driver has no stream for it.
  bool open();
  // Not before it is empty.
  void close();
  bool isOpen() const { return stream_ != nullptr; }

  // As many copies at a time as the tenant's terms say, and not so much that one who waits for the
  // context waits for long.
  bool full(std::uint64_t bytes_more) const;
  bool empty() const { return count_ == 0; }
  // Of all that are under way.
  std::uint64_t bytes() const { return bytes_; }

  // Puts a copy behind the others, from the device to `host` or the reverse. False: it may be under
  // way all the same, and is none of the queue's; then stop().
  bool out(const Flight& flight, CUdeviceptr device, void* host);
  bool in(const Flight& flight, CUdeviceptr device, const void* host);

  // CUDA_SUCCESS: the oldest has arrived. CUDA_ERROR_NOT_READY: it has not. Else nobody knows: then
  // stop().
  CUresult look() const;
  // The oldest, which is in the queue no more.
  Flight take();
  // Time with at least one under way, since there was none or since the last call.
  std::uint64_t lap();

  // Returns when nothing is under way, whatever was queued.
  void stop() const;

 private:
  static constexpr unsigned kMax = 16;

  Flight& next() { return of_[(first_ + count_) % kMax]; }
  bool queue(const Flight& flight);

  CUstream stream_ = nullptr;
  unsigned most_ = 1;
  unsigned first_ = 0;
  unsigned count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t since_ = 0;
  Flight of_[kMax] = {};
};

}  // namespace divvy::interposer
