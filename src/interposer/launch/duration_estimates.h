// How long the same work took before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace divvy::interposer {

// What is known of one key. Threads that learn at the same time may lose a sample, nothing else.
class Estimate {
 public:
  // Nanoseconds; 0: never measured.
  std::uint64_t duration() const { return duration_.load(std::memory_order_relaxed); }
  std::uint32_t samples() const { return samples_.load(std::memory_order_relaxed); }

  // One more measurement. `exact`: of launches that followed each other without a gap; while there
  // are such, others only count if they stay away for long. Known is their mean in the long run,
  // whatever their distribution, the latest 32 counting most; single ones far off (somebody else's
  // work came between) count little, and the first one, which also loads code, until the second.
  void learn(std::uint64_t duration, bool exact);
  // Its duration is known from launches that were measured exactly.
  bool sure() const { return exact_.load(std::memory_order_relaxed) >= kFirst; }

  // True until a few measurements are on their way: everybody wants to know how long a new key
  // takes.
  bool wanted() const { return asked_.load(std::memory_order_relaxed) < kFirst; }
  void noteAsked() {
    asked_.store(asked_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  friend class DurationEstimates;
  static constexpr std::uint32_t kFirst = 4;

  std::atomic<std::uint64_t> key_{0};  // 0: free
  std::atomic<std::uint64_t> duration_{0};
  std::atomic<std::uint32_t> samples_{0};
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<std::uint32_t> oddity_{0};  // share of samples that were far off, of 65536
  std::atomic<std::uint32_t> exact_{0};   // exact samples, less the others since
};

// Fixed room, no lock, nothing is ever removed: a handle that is used again for something else is
// measured anew soon. Any thread, any signal handler.
class DurationEstimates {
 public:
  static constexpr std::size_t kRoom = std::size_t{1} << 13;

  // The estimate of a key (not 0) where nothing else stands in its first place; else nullptr.
  Estimate* known(std::uint64_t key) const {
    const Estimate& found = entries_[(key >> kShift) % kRoom];
    const bool same = found.key_.load(std::memory_order_relaxed) == key;
    return same ? const_cast<Estimate*>(&found) : nullptr;
  }

  // The estimate of a key (not 0), which may be new. nullptr: its neighbourhood is full.
  Estimate* at(std::uint64_t key) {
    for (std::size_t i = 0; i < kProbes; ++i) {
      Estimate& found = entries_[((key >> kShift) + i) % kRoom];
      const std::uint64_t there = found.key_.load(std::memory_order_relaxed);
      if (__builtin_expect(there == key, 1)) return &found;
      if (there == 0) return add(key, i);
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kProbes = 16;
  static constexpr unsigned kShift = 51;  // a key's high bits are the mixed ones

  Estimate* add(std::uint64_t key, std::size_t probe);

  Estimate entries_[kRoom] = {};
};

}  // namespace divvy::interposer
