// This process's use of all devices, and the counts of its launches.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/layout.h"
#include "meter/device_usage.h"

namespace divvy::interposer {

struct Settled {
  std::uint64_t look_at = UINT64_MAX;  // time of the next call; UINT64_MAX: nothing is in flight
  bool ended = false;                  // some work in flight ended since the last call
};

// One per process, in static storage. All times are host nanoseconds. Any thread.
class ProcessUsage {
 public:
  DeviceUsage& device(unsigned device) { return devices_[device]; }

  // Notes that the device of the ledger is used. usedDevices() returns the bits of all such
  // devices.
  void use(unsigned device) { used_.fetch_or(1u << device, std::memory_order_relaxed); }
  std::uint32_t usedDevices() const { return used_.load(std::memory_order_relaxed); }

  // Returns the largest estimated time in flight of any device. Reads no clock. Up to 50 us of work
  // or 64 launches of each thread and stream may be missing.
  std::uint64_t unsettled() const {
    return __builtin_expect(usedDevices() <= 1, 1) ? devices_[0].unsettled() : mostUnsettled();
  }
  // Returns the estimated end of the work in flight; in the past if there is none.
  std::uint64_t inflightUntil() const;
  // The same two values of one device alone.
  std::uint64_t unsettledOn(unsigned device) const { return devices_[device].unsettled(); }
  std::uint64_t untilOn(unsigned device) const { return devices_[device].until(); }
  // Returns whether no work is known to be in flight, by events where there are events.
  bool idle() const { return unsettled() == 0; }

  // Returns the time during which the ledger's device was observed busy with this process's work.
  // The value only grows.
  std::uint64_t busy(unsigned device) const { return devices_[device].busy(); }
  // Returns the duration of the longest kernel or graph, by measured estimates.
  std::uint64_t longest() const { return longest_.load(std::memory_order_relaxed); }
  // Returns the number of launches that were charged by estimate only.
  std::uint64_t unmetered() const { return unmetered_.load(std::memory_order_relaxed); }
  // Returns how many times work that ended was accounted.
  std::uint64_t settles() const { return settles_.load(std::memory_order_relaxed); }

  void noteLongest(std::uint64_t duration) {
    if (duration > longest()) longest_.store(duration, std::memory_order_relaxed);
  }
  void noteUnmetered(std::uint32_t launches) {
    unmetered_.fetch_add(launches, std::memory_order_relaxed);
  }
  // Notes in `out`, too, that work ended and was accounted.
  void noteSettled(Settled* out) {
    settles_.fetch_add(1, std::memory_order_relaxed);
    out->ended = true;
  }

  // Surround one settling of all contexts.
  void beginSettle();
  void endSettle(std::uint64_t now, Settled* out);

  void forgetAfterFork();

 private:
  std::uint64_t mostUnsettled() const;

  DeviceUsage devices_[ledger::kMaxDevices];
  std::atomic<std::uint32_t> used_{0};  // bits
  std::atomic<std::uint64_t> longest_{0};
  std::atomic<std::uint64_t> unmetered_{0};
  std::atomic<std::uint64_t> settles_{0};
};

}  // namespace divvy::interposer
