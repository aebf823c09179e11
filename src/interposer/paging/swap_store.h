// Host memory that holds the contents of swapped-out chunks.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/slab.h"

namespace divvy::interposer {

// One per process, in static storage. A segment is memory of this library, which the driver pins
// where it can. It outlives every context, is not inherited over a fork and is in no core file. A
// segment that is no longer needed is kept for later use. Pages that go back to the kernel are
// cleared by the kernel before any other use.
class SwapStore {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // ---- for threads of this library
  // take(), trim() and pin() need a current context that is not about to end.

  // Returns a segment of at least `bytes`: a kept segment, or a new one. A new one is created only
  // if the total stays within `limit` bytes, after unneeded segments were given back. Returns kNone
  // if there is none.
  std::uint32_t take(std::uint64_t bytes, std::uint64_t limit);
  // Returns a new segment if the total stays within `limit` bytes, else kNone. Gives no segment
  // back and needs no context.
  std::uint32_t makeSpare(std::uint64_t bytes, std::uint64_t limit);
  // Gives unneeded segments back until the total is at most `limit` bytes, as far as possible.
  void trim(std::uint64_t limit);
  // Pins the segment for the current context if possible. Copies of an unpinned segment are slower.
  // `contexts_ended` is the number of contexts that have ended.
  void pin(std::uint32_t number, std::uint32_t contexts_ended);

  // ---- for any thread that has the segment's number
  void* at(std::uint32_t number) { return segments_.at(number).memory; }
  // Releases the segment; its contents are lost. No lock and no system call.
  void give(std::uint32_t number);

  // Returns the bytes of segments that hold no contents.
  std::uint64_t spareBytes();
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  void forgetAfterFork();

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kUsed = 1;
  static constexpr std::uint32_t kChanging = 2;

  struct Segment {  // valid when zero; `bytes` and `memory` are constant while taken
    std::atomic<std::uint32_t> taken;
    std::atomic<std::uint32_t> use;  // kFree, kUsed or kChanging
    bool pinned;
    std::uint32_t pinned_at;  // number of ended contexts when it was pinned
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
