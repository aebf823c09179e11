// When a launch, a copy or a fill last named each chunk. This alone decides which chunks are
// swapped out first and which are used in host memory. It is an estimate. Memory that a kernel
// reaches through pointers is unknown. Most launches of a quick succession are not examined.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "cuda/call_work.h"
#include "operands/kernel_arguments.h"
#include "operands/kernel_param_cache.h"
#include "paging/chunk.h"

namespace divvy::interposer {

// State of one application thread for the sampling of launches.
struct ThreadAccess {
  std::uint32_t skip;    // launches until the next examined one
  std::uint32_t period;  // AccessRecency::period() at the latest examination
  std::uint32_t looked;  // launches examined in that period
  std::uint32_t random;
};

extern "C" {
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) constinit thread_local ThreadAccess divvy_use;
}

// One per process, in static storage. Takes no lock and never waits. Any thread.
class AccessRecency {
 public:
  // Returns an instant later than all earlier ones; never 0.
  std::uint64_t next() { return clock_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // Notes the chunks that a launch's arguments name as used now. Notes the chunks behind each, up
  // to the next chunk that launches name, as possibly used: an array is named by its first address.
  // The thread must not be inside a driver call of this library.
  void noteLaunch(CUfunction function, void* const* params, void* const* extra);
  // Calls visit(value) for each value among a launch's arguments that may be an address. Returns
  // false if not all arguments are known. No capture may be open.
  template <typename Visit>
  bool visit(CUfunction function, void* const* params, void* const* extra, Visit visit) {
    if (extra != nullptr) return scanExtra(extra, visit);
    ParamSizes sizes;
    if (!sizesOf(function, &sizes)) return false;
    return params != nullptr ? scanParams(sizes, params, visit) : sizes.count == 0;
  }
  // Notes the chunk at an address that a launch names as used at instant `now`.
  void noteAddress(std::uint64_t address, std::uint64_t now);
  // Notes the chunks that overlap the range as used now.
  void noteRange(std::uint64_t address, std::uint64_t bytes);
  // Counts a launch with unknown arguments.
  void noteUnknown() { unknown_.fetch_add(1, std::memory_order_relaxed); }

  // Returns whether to examine the calling thread's next launch: the first kAll launches of a
  // period, then about one in kSampling.
  static bool due() {
    if (__builtin_expect(divvy_use.skip == 0, 1)) return true;
    --divvy_use.skip;
    return false;
  }

  // Returns the number of the period. A period ends about every 100 ms in which a use was noted.
  std::uint32_t period() const { return period_.load(std::memory_order_relaxed); }

  // ---- for pager threads
  // Ends the period if it is over. To be called repeatedly. Periods without a noted use do not
  // count.
  void advance(std::uint64_t now);
  // Returns the access class of a chunk. kUsed: used recently. kWarm: only behind a chunk that was
  // used. kCold: neither, for at least patience_ periods and at most 1.5 times as many. No chunk is
  // cold before that many periods have passed.
  enum class AccessClass : std::uint8_t { kCold, kWarm, kUsed };
  AccessClass warmth(const Chunk& chunk) const;
  // Returns whether the use that gave the chunk its class is recent. The limit lies between half of
  // patience_ and patience_ periods ago.
  bool isHot(const Chunk& chunk) const;
  // Returns a rank: the larger, the more the chunk belongs on the device.
  std::uint64_t rank(const Chunk& chunk) const;
  // Doubles patience_ if a chunk that was taken for cold became hot, and halves it if not. The
  // bounds are kPatience and kMaxPatience.
  void learn(bool mistaken);

  // Returns how many times the limits of hot and cold moved.
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  // Returns the number of launches and graphs with arguments that are not all known: the driver
  // does not report them, or there are too many.
  std::uint64_t unknown() const { return unknown_.load(std::memory_order_relaxed); }

  void forgetAfterFork();

 private:
  static constexpr std::uint32_t kAll = 256;      // launches of a thread in a period
  static constexpr std::uint32_t kSampling = 32;  // launches per examined launch after that
  static constexpr std::uint64_t kPeriod = 100'000'000;
  static constexpr std::uint32_t kPatience = 10;  // periods
  static constexpr std::uint32_t kMaxPatience = 1024;
  static constexpr unsigned kMaxSteps = 256;  // chunks of one range

  void decide();
  bool sizesOf(CUfunction function, ParamSizes* out);
  static CUresult ask(CUfunction function, unsigned index, std::size_t* offset, std::size_t* size);
  bool isCold(std::uint64_t instant) const {
    return instant <= cold_.load(std::memory_order_relaxed);
  }
  template <typename Visit>
  static void forRange(std::uint64_t address, std::uint64_t last, Visit visit);

  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> unknown_{0};
  std::atomic<std::uint32_t> period_{1};
  std::atomic<std::uint64_t> advance_at_{0};
  std::atomic<std::uint64_t> clock_seen_{0};  // clock_ at the start of the period
  std::atomic<std::uint32_t> patience_{kPatience};
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<std::uint32_t> turns_at_{kPatience / 2 + 1};  // period of the next turn
  // Instants of the latest three turns. A use after hot_ is hot. A chunk without a use after cold_
  // is cold.
  std::atomic<std::uint64_t> turned_{0};
  std::atomic<std::uint64_t> hot_{0};
  std::atomic<std::uint64_t> cold_{0};
  KernelParamCache params_;
};

}  // namespace divvy::interposer
