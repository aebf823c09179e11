// Estimates of how long work takes, from how long the same work took before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace divvy::interposer {

// The estimate of one key. Threads that learn at the same time may lose a sample and nothing else.
class Estimate {
 public:
  // Returns nanoseconds; 0 if never measured.
  std::uint64_t duration() const { return duration_.load(std::memory_order_relaxed); }
  std::uint32_t samples() const { return samples_.load(std::memory_order_relaxed); }

  // Adds a measurement in nanoseconds. `exact`: of launches that followed each other without a gap.
  // Other samples count only if no exact sample came for long. The estimate is the long-run mean of
  // any distribution, in which the latest 32 samples weigh most. A rare sample far above the mean,
  // which other tenants' work may cause, counts little. The first sample also loads code and counts
  // only until the second.
  void learn(std::uint64_t duration, bool exact);
  // Returns whether the duration is known from exact samples.
  bool sure() const { return exact_.load(std::memory_order_relaxed) >= kFirst; }

  // Returns whether more launches of a new key should be measured, until a few measurements are
  // under way.
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
  std::atomic<std::uint32_t> oddity_{0};  // share of samples far above the mean, of 65536
  std::atomic<std::uint32_t> exact_{0};   // exact samples, less the inexact samples since
};

// Fixed capacity, no lock, and no entry is ever removed: a handle that is reused for another
// function is soon measured again. Any thread and signal handler.
class DurationEstimates {
 public:
  static constexpr std::size_t kRoom = std::size_t{1} << 13;

  // Returns the estimate of a key (not 0) if it is in the key's first place; else nullptr.
  Estimate* known(std::uint64_t key) const {
    const Estimate& found = entries_[(key >> kShift) % kRoom];
    const bool same = found.key_.load(std::memory_order_relaxed) == key;
    return same ? const_cast<Estimate*>(&found) : nullptr;
  }

  // Returns the estimate of a key (not 0), added if necessary. Returns nullptr if all of the key's
  // places are taken.
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
  static constexpr unsigned kShift = 51;  // the high bits of a key are mixed

  Estimate* add(std::uint64_t key, std::size_t probe);

  Estimate entries_[kRoom] = {};
};

}  // namespace divvy::interposer
