// Copies in flight between a device and host memory.
#pragma once

#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// A first-in-first-out queue of copies on a stream of its own, used by one thread. A caller that
// empties it has observed the end of every copy.
class CopyPipeline {
 public:
  struct Flight {
    std::uint32_t chunk;    // number
    std::uint32_t segment;  // number of its segment in the swap store
    std::uint64_t bytes;
    CUevent end;  // reused after the copy; null: not created yet
  };

  CopyPipeline() = default;
  CopyPipeline(const CopyPipeline&) = delete;
  CopyPipeline& operator=(const CopyPipeline&) = delete;

  // Creates the stream, in the current context. Returns false if the driver refuses it.
  bool open();
  // Destroys the stream and the events. The queue must be empty.
  void close();
  bool isOpen() const { return stream_ != nullptr; }

  // Returns whether another copy of `bytes_more` has to wait. The bound on copies comes from the
  // tenant's swap settings. The bound on bytes keeps the wait of a thread that needs the context
  // short.
  bool full(std::uint64_t bytes_more) const;
  bool empty() const { return count_ == 0; }
  // Returns the bytes of all copies in flight.
  std::uint64_t bytes() const { return bytes_; }

  // Queues a copy from the device to `host`, or the reverse. If false, the copy is not in the queue
  // but may be in flight; the caller must call stop().
  bool out(const Flight& flight, CUdeviceptr device, void* host);
  bool in(const Flight& flight, CUdeviceptr device, const void* host);

  // Returns CUDA_SUCCESS if the oldest copy has ended and CUDA_ERROR_NOT_READY if it has not. After
  // any other result its state is unknown, and the caller must call stop().
  CUresult look() const;
  // Removes the oldest copy from the queue and returns it.
  Flight take();
  // Returns nanoseconds with a copy in flight since the queue was last empty or since the last
  // call.
  std::uint64_t lap();

  // Returns when no copy is in flight, including copies that are not in the queue.
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
