// Records that live while their number is held: no malloc, no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/syscalls.h"

namespace divvy::interposer {

// Record must be valid when zero-filled and have a member `std::atomic<std::uint32_t> taken`.
// Numbers are below 2^24 and are reused after give(). Any thread and
// signal handler.
template <typename Record>
class Slab {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Takes a free record and returns its number; kNone if there is no memory. The other members are
  // as the last user left them.
  std::uint32_t take() {
    for (unsigned segment = 0; segment < kSegments; ++segment) {
      Record* records = segments_[segment].load(std::memory_order_acquire);
      if (records == nullptr) records = map(segment);
      if (records == nullptr) return kNone;
      const std::uint32_t found = takeFrom(segment, records);
      if (found != kNone) return found;
    }
    return kNone;
  }

  void give(std::uint32_t number) { at(number).taken.store(0, std::memory_order_release); }

  Record& at(std::uint32_t number) {
    return segments_[number / kPerSegment].load(std::memory_order_acquire)[number % kPerSegment];
  }

  const Record& at(std::uint32_t number) const {
    return segments_[number / kPerSegment].load(std::memory_order_acquire)[number % kPerSegment];
  }

  // Calls visit(number, record) for every taken record until it returns false.
  template <typename Visit>
  void forEach(Visit visit) {
    for (unsigned segment = 0; segment < kSegments; ++segment) {
      Record* records = segments_[segment].load(std::memory_order_acquire);
      if (records == nullptr) return;
      for (std::uint32_t i = 0; i < kPerSegment; ++i) {
        if (records[i].taken.load(std::memory_order_acquire) == 0) continue;
        if (!visit(segment * kPerSegment + i, records[i])) return;
      }
    }
  }

  void forgetAfterFork() {
    for (auto& segment : segments_) segment.store(nullptr, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kPerSegment = 1024;
  static constexpr unsigned kSegments = 256;

  Record* map(unsigned segment) {
    const ErrnoKeeper keeper;
    auto* fresh = static_cast<Record*>(sys::mapAnonymous(kPerSegment * sizeof(Record)));
    Record* expected = nullptr;
    if (fresh == nullptr || segments_[segment].compare_exchange_strong(expected, fresh)) {
      return fresh;
    }
    sys::unmap(fresh, kPerSegment * sizeof(Record));
    return expected;
  }

  // Starts where the last search ended, so that a slab that fills up is not searched from its
  // start.
  std::uint32_t takeFrom(unsigned segment, Record* records) {
    const std::uint32_t start = hint_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < kPerSegment; ++i) {
      const std::uint32_t at = (start + i) % kPerSegment;
      std::uint32_t free = 0;
      if (records[at].taken.load(std::memory_order_relaxed) != 0 ||
          !records[at].taken.compare_exchange_strong(free, 1, std::memory_order_acq_rel)) {
        continue;
      }
      hint_.store(at + 1, std::memory_order_relaxed);
      return segment * kPerSegment + at;
    }
    return kNone;
  }

  std::atomic<Record*> segments_[kSegments] = {};
  std::atomic<std::uint32_t> hint_{0};
};

}  // namespace divvy::interposer
