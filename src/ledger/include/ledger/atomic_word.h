// Atomic access to words that several processes map. The layout has plain integers, and these
// functions access them: so the same structs can be copied by pread, and no libatomic is needed.
#pragma once

#include <cstdint>

namespace divvy::ledger {

template <typename T>
inline T loadRelaxed(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <typename T>
inline T loadAcquire(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <typename T>
inline void storeRelaxed(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
template <typename T>
inline void storeRelease(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

// On failure `expected` holds the value found.
template <typename T>
inline bool compareExchange(T& word, T& expected, T desired) {
  return __atomic_compare_exchange_n(&word, &expected, desired, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

constexpr std::uint64_t saturatingAdd(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum < a ? UINT64_MAX : sum;
}

// For a counter with one writer at a time. Never wraps (S12).
inline void bumpOwned(std::uint64_t& counter, std::uint64_t by) {
  storeRelaxed(counter, saturatingAdd(loadRelaxed(counter), by));
}

// For a counter with several writers. Never wraps: on overflow the counter stays at its maximum.
inline void bumpShared(std::uint64_t& counter, std::uint64_t by) {
  const std::uint64_t before = __atomic_fetch_add(&counter, by, __ATOMIC_RELAXED);
  if (before + by < before) storeRelaxed(counter, UINT64_MAX);
}

// Raises `word` to at least `value`. Each failed round means that the word grew; the loop ends at
// the first value that is high enough.
inline void raiseTo(std::uint64_t& word, std::uint64_t value) {
  std::uint64_t seen = loadAcquire(word);
  while (seen < value && !compareExchange(word, seen, value)) {
  }
}

// Two words that change together.
struct alignas(16) Pair {
  std::uint64_t low;
  std::uint64_t high;
};

// The halves may be of different instants; each is a value that was there. casPair refuses a
// mixture, because no word that is compared ever returns to an earlier pair.
inline Pair loadHalves(const Pair& word) {
  const std::uint64_t low = loadAcquire(word.low);
  return {low, loadAcquire(word.high)};
}

// Sequentially consistent on x86-64, acquire/release on aarch64. On failure `expected` is a hint at
// the present value: exact on x86-64, possibly mixed on aarch64, as with loadHalves.
inline bool casPair(Pair& word, Pair& expected, const Pair& desired) {
#if defined(__x86_64__)
  bool done;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(done), "+m"(word), "+a"(expected.low), "+d"(expected.high)
               : "b"(desired.low), "c"(desired.high)
               : "memory");
  return done;
#elif defined(__aarch64__)
  // One asm block: a spill between load and store could lose the reservation permanently.
  std::uint64_t low;
  std::uint64_t high;
  std::uint32_t failed;
  asm volatile(
      "1: ldaxp %0, %1, %3\n"
      "   cmp %0, %4\n"
      "   ccmp %1, %5, #0, eq\n"
      "   b.ne 2f\n"
      "   stlxp %w2, %6, %7, %3\n"
      "   cbnz %w2, 1b\n"
      "   b 3f\n"
      "2: clrex\n"
      "3:\n"
      : "=&r"(low), "=&r"(high), "=&r"(failed), "+Q"(word)
      : "r"(expected.low), "r"(expected.high), "r"(desired.low), "r"(desired.high)
      : "cc", "memory");
  const bool done = low == expected.low && high == expected.high;
  if (!done) expected = {low, high};
  return done;
#else
#error "the ledger needs a 16-byte compare-and-swap: port casPair to this machine"
#endif
}

// Hints to the processor that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__)
  asm volatile("pause");
#else
  asm volatile("yield");
#endif
}

}  // namespace divvy::ledger
