// The grant's word under which launches are admitted now.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// One per process, in static storage. Any thread.
class ActiveGrantWord {
 public:
  // Returns the noted word; 0: none. A thread that reads it also sees the claimed line of the work
  // report.
  std::uint32_t current() const { return word_.load(std::memory_order_acquire); }
  bool any() const { return word_.load(std::memory_order_relaxed) != 0; }

  // Returns the noted word while launches under it may take the quick path; otherwise a word that
  // no grant has. kMarked: for launches with a marked line; the others may touch no swappable
  // memory.
  template <bool kMarked>
  std::uint32_t quick() const {
    return (kMarked ? marked_ : quick_).load(std::memory_order_acquire);
  }

  // Notes a word. `quick`: launches under it may take the quick path.
  void note(std::uint32_t word, bool quick) {
    word_.store(word, std::memory_order_release);
    marked_.store(quick ? word : kNone, std::memory_order_release);
    quick_.store(quick ? word : kNone, std::memory_order_seq_cst);
  }
  // Closes the quick path for launches without a marked line, until the next note().
  void closeUnmarked() { quick_.store(kNone, std::memory_order_seq_cst); }
  void forget() {
    word_.store(0, std::memory_order_relaxed);
    quick_.store(kNone, std::memory_order_relaxed);
    marked_.store(kNone, std::memory_order_relaxed);
  }

  // Remembers the number of launches that found the gate open. Returns whether it has changed since
  // the last call.
  bool freeChanged(std::uint64_t free) {
    return free_.exchange(free, std::memory_order_relaxed) != free;
  }
  void forgetAfterFork() {
    forget();
    free_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint32_t> quick_{kNone};
  std::atomic<std::uint32_t> marked_{kNone};
  std::atomic<std::uint64_t> free_{0};
};

}  // namespace divvy::interposer
