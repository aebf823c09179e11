// Host memory that holds the contents of chunks while they are off the device.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/slab.h"

namespace divvy::interposer {

// One per process, in static storage. A segment is memory of our own, which the driver pins while
// it can: it outlives every context, and neither a child of a fork nor a core file has it. What is
// done with a segment is kept for the next; pages that go back to the kernel are scrubbed by it
// before anybody has them.
class SwapStore {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // ---- threads of ours, with a context current that is not about to end
  // A segment of at least `bytes`: one that was kept, or a new one while there are no more than
  // `limit` bytes in all, after unneeded ones were given back. kNone: not to be had.
  std::uint32_t take(std::uint64_t bytes, std::uint64_t limit);
  // A new one, if there are no more than `limit` bytes in all with it; for it, none is given back.
  std::uint32_t makeSpare(std::uint64_t bytes, std::uint64_t limit);
  // Gives unneeded ones back until there are no more than `limit` bytes, if that is possible.
  void trim(std::uint64_t limit);
  // Pinned for the current context, where that can be: copies are slower where it cannot.
  void pin(std::uint32_t number, std::uint32_t contexts_ended);

  // ---- anybody who has the segment's number
  void* at(std::uint32_t number) { return segments_.at(number).memory; }
  // Its contents are needed no more. No lock, no system call.
  void give(std::uint32_t number);

  // In segments that hold nothing.
  std::uint64_t spareBytes();
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  void forgetAfterFork();

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kUsed = 1;
  static constexpr std::uint32_t kChanging = 2;

  struct Segment {  // valid when zero; `bytes` and `memory` are constant while it is taken
    std::atomic<std::uint32_t> taken;
    std::atomic<std::uint32_t> use;  // kUsed ...
    bool pinned;
    std::uint32_t pinned_at;  // contexts that had ended when it was
    std::uint64_t bytes;
    void* memory;
  };

  std::uint32_t takeKept(std::uint64_t bytes);
  std::uint32_t make(std::uint64_t bytes);
  bool destroyOne();
  static void unpin(Segment& segment);

  Slab<Segment> segments_;
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace divvy::interposer
