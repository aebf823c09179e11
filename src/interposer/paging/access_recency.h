// When chunks were last named by a launch, a copy or a fill: which of them leave first, and which
// are used where they are with the host, follows from that and nothing else. A guess: what a launch
// reaches through memory is not known, and most launches of those that follow each other quickly
// are not looked at.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "cuda/call_work.h"
#include "operands/kernel_arguments.h"
#include "operands/kernel_param_cache.h"
#include "paging/chunk.h"

namespace divvy::interposer {

// What one thread of the application carries for that.
struct ThreadAccess {
  std::uint32_t skip;    // launches before the next one that is looked at
  std::uint32_t period;  // AccessRecency::period() when it last looked
  std::uint32_t looked;  // launches, in that period
  std::uint32_t random;
};

extern "C" {
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) constinit thread_local ThreadAccess divvy_use;
}

// One per process, in static storage. Takes no lock and waits for nobody. Any thread.
class AccessRecency {
 public:
  // An instant that is later than all before; never 0.
  std::uint64_t next() { return clock_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // The chunks that the arguments of a launch name are used now. Those behind them up to the next
  // one that launches name may be: an array has its address where it begins. The thread is inside
  // nothing.
  void noteLaunch(CUfunction function, void* const* params, void* const* extra);
  // Calls visit(value) for what may be an address among the arguments of a launch. False: not all
  // of them are known. Nobody is capturing.
  template <typename Visit>
  bool visit(CUfunction function, void* const* params, void* const* extra, Visit visit) {
    if (extra != nullptr) return scanExtra(extra, visit);
    ParamSizes sizes;
    if (!sizesOf(function, &sizes)) return false;
    return params != nullptr ? scanParams(sizes, params, visit) : sizes.count == 0;
  }
  // What lies at an address that a launch names is used at that instant.
  void noteAddress(std::uint64_t address, std::uint64_t now);
  // Those in which a part of the range lies.
  void noteRange(std::uint64_t address, std::uint64_t bytes);
  // Launches are as usual; this one's arguments cannot be told.
  void noteUnknown() { unknown_.fetch_add(1, std::memory_order_relaxed); }

  // Whether the calling thread's next launch is to be looked at: all of the first in a period, one
  // in many of those after it.
  static bool due() {
    if (__builtin_expect(divvy_use.skip == 0, 1)) return true;
    --divvy_use.skip;
    return false;
  }

  // Grows about every 100 ms in which something is used.
  std::uint32_t period() const { return period_.load(std::memory_order_relaxed); }

  // ---- of movers
  // To be called now and then: periods in which nothing was used do not count.
  void advance(std::uint64_t now);
  // Of a chunk. kCold: for as many periods as patience_ says at least, and half as many more at
  // most, it was neither used nor behind what was; before so many have passed there is none. kWarm:
  // it was behind what was used.
  enum class AccessClass : std::uint8_t { kCold, kWarm, kUsed };
  AccessClass warmth(const Chunk& chunk) const;
  // What it is, it was made of late: within as many periods as patience_ says, and at least half
  // of that.
  bool isHot(const Chunk& chunk) const;
  // Larger for what is to be on the device rather.
  std::uint64_t rank(const Chunk& chunk) const;
  // What was taken for cold came to be hot, or did not: more patience from now on, or less.
  void learn(bool mistaken);

  // How often it was decided anew what is hot and what is cold.
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  // Launches of whose arguments not all is known: the driver does not say, or they are too many.
  std::uint64_t unknown() const { return unknown_.load(std::memory_order_relaxed); }

  void forgetAfterFork();

 private:
  static constexpr std::uint32_t kAll = 256;      // launches of a thread in a period
  static constexpr std::uint32_t kSampling = 32;  // after them
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
  std::atomic<std::uint64_t> clock_seen_{0};  // when the period began
  std::atomic<std::uint32_t> patience_{kPatience};
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<std::uint32_t> turns_at_{kPatience / 2 + 1};  // the period of the next one
  // Instants of the last three: the latest, what was used after this is hot, what was not after
  // this is cold.
  std::atomic<std::uint64_t> turned_{0};
  std::atomic<std::uint64_t> hot_{0};
  std::atomic<std::uint64_t> cold_{0};
  KernelParamCache params_;
};

}  // namespace divvy::interposer
