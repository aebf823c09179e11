#include "meter/duration_estimates.h"

namespace divvy::interposer {
namespace {

constexpr std::uint32_t kWindow = 32;  // samples in the mean
constexpr std::uint32_t kSettled = 4;  // samples before which none counts as odd
constexpr std::uint64_t kFar = 4;      // times the mean, or a part of it
constexpr std::uint32_t kTrusted = 16;
constexpr std::uint64_t kShortest = 500;
constexpr std::uint32_t kWhole = 65536;
// If more than one sample in sixteen is far off, that is normal for the work.
constexpr std::uint32_t kUsual = kWhole / 16;

}  // namespace

void Estimate::learn(std::uint64_t sample, bool exact) {
  const std::uint32_t trusted = exact_.load(std::memory_order_relaxed);
  if (exact) {
    if (trusted < kTrusted) exact_.store(trusted + 1, std::memory_order_relaxed);
  } else if (trusted >= kFirst) {
    exact_.store(trusted - 1, std::memory_order_relaxed);
    return;
  }
  if (sample < kShortest) sample = kShortest;
  const std::uint32_t count = samples();
  const std::uint64_t mean = duration();
  samples_.store(count + 1 == 0 ? count : count + 1, std::memory_order_relaxed);
  // The first run of a kernel includes loading its code and more; it counts only until there is a
  // second.
  if (count <= 1 || (!exact && count < kSettled && sample < mean / kFar)) {
    duration_.store(sample, std::memory_order_relaxed);
    return;
  }
  if (count >= kSettled) {
    const std::uint32_t oddity = oddity_.load(std::memory_order_relaxed);
    const bool far = sample > kFar * mean;
    oddity_.store(far ? oddity + (kWhole - oddity) / kWindow : oddity - oddity / kWindow,
                  std::memory_order_relaxed);
    if (far && oddity < kUsual) sample = 2 * mean;
  }
  const std::uint64_t weight = count < kWindow ? count : kWindow;
  const std::uint64_t next =
      sample > mean ? mean + (sample - mean) / weight : mean - (mean - sample) / weight;
  duration_.store(next, std::memory_order_relaxed);
}

Estimate* DurationEstimates::add(std::uint64_t key, std::size_t probe) {
  for (; probe < kProbes; ++probe) {
    Estimate& place = entries_[((key >> kShift) + probe) % kRoom];
    std::uint64_t there = 0;
    if (place.key_.compare_exchange_strong(there, key, std::memory_order_relaxed) || there == key) {
      return &place;
    }
  }
  return nullptr;
}

}  // namespace divvy::interposer
