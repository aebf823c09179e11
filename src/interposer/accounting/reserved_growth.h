// A charge for an amount of memory that only the driver knows. It is the memory that a
// stream-ordered pool, or the graph memory of a device, has reserved from the device.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/account.h"

namespace divvy::interposer {

// A call that may make the driver reserve more is charged beforehand with the most that it can take
// (reserve, begin). A sample of the driver's real size corrects the charge afterwards
// (settle). No lock is held in between, and any number of threads may be inside. The charge is
//
//     base + started        started, finished: bytes added and ended so far; both only grow
//
// A sample taken at a time t bounds the driver's holding from then on by
// sample + (started - finished read before t), because bytes that are not in the sample yet were
// started and not finished then. So `sample - finished` is a valid base whenever it is applied, and
// the lowest base seen is the tightest. With no call in progress it is exact.
class GrowthCharge {
 public:
  // To be called before a call that can make the driver grow by up to `bytes`. Takes over the
  // bytes, which the caller has reserved.
  void begin(std::uint64_t bytes) { started_.fetch_add(bytes, std::memory_order_acq_rel); }

  // To be called after that call, whatever its result.
  void end(std::uint64_t bytes) { finished_.fetch_add(bytes, std::memory_order_acq_rel); }

  // The charge's state before a sample is taken; passed to settle() with that sample.
  struct Mark {
    std::uint64_t finished;
    std::int64_t base;
  };
  Mark mark() const {
    return {finished_.load(std::memory_order_acquire), base_.load(std::memory_order_acquire)};
  }

  // Lowers the charge to the amount that the sample proves sufficient. Returns the bytes by which
  // the driver held more than was ever charged between `before` and now. That should be 0;
  // otherwise a begin() admitted too little. Bytes that other threads gave back or began meanwhile
  // are never an excess.
  std::uint64_t settle(ledger::Account& account, unsigned device, Mark before,
                       std::uint64_t sample);

  // Adds `bytes` to the charge after settle() returned an excess. Returns false if there is no
  // room.
  bool admitMore(ledger::Account& account, unsigned device, std::uint64_t bytes);

  // Gives the whole charge back, because the memory was freed.
  void drop(ledger::Account& account, unsigned device);

  std::uint64_t charged() const {
    return static_cast<std::uint64_t>(base_.load(std::memory_order_acquire)) +
           started_.load(std::memory_order_acquire);
  }

  void forget() {
    base_.store(0, std::memory_order_relaxed);
    started_.store(0, std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
  }

 private:
  // Replaces the base if `base` is lower, and gives the difference back.
  void lowerTo(ledger::Account& account, unsigned device, std::int64_t base);

  std::atomic<std::int64_t> base_{0};
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> finished_{0};
};

}  // namespace divvy::interposer
