// Memory that graphs take by their allocation nodes.
#pragma once

#include "accounting/reserved_growth.h"
#include "device/device_map.h"
#include "loader/driver_table.h"
#include "support/address_map.h"

namespace divvy::interposer {

// An executable graph with allocation nodes takes its memory from a pool that the driver keeps per
// device, when it is uploaded or launched; the memory stays there, for the next launch, until
// cuDeviceGraphMemTrim. What is charged is what that pool has reserved. Programs without allocation
// nodes pay one load per graph call for this.
class GraphMemory {
 public:
  // True once an allocation node was made in this process, directly or by capture.
  bool any() const { return any_.load(std::memory_order_acquire); }
  void noteAllocationNode() { any_.store(true, std::memory_order_release); }

  // The bytes that the allocation nodes of a graph (child graphs included) can take at most, by
  // ledger device.
  struct Need {
    std::uint64_t bytes[ledger::kMaxDevices] = {};
    bool any = false;
  };
  Need needOf(CUgraph graph) const;

  // What an executable graph was instantiated with.
  void remember(CUgraphExec exec, const Need& need);
  Need needOf(CUgraphExec exec) const;
  void forget(CUgraphExec exec);

  // An executable graph that ran keeps its memory until a trim takes some away: launching it again
  // needs nothing. `backing` numbers the times between trims.
  std::uint64_t backing() const { return backing_.load(std::memory_order_acquire); }
  bool isBacked(CUgraphExec exec) const;
  void noteBacked(CUgraphExec exec, std::uint64_t backing);

  // Around a call that may back `need` with memory. False: it is not to be had.
  bool begin(const Need& need);
  void end(const Need& need);

  // Corrects the charge of a device (kNoDevice: all) by what the driver says, which also shows
  // whether a trim took something away.
  void settle(unsigned device);
  // Makes the driver give back what no graph uses.
  void trim(unsigned device);

  void forgetAfterFork();

 private:
  std::atomic<bool> any_{false};
  AddressMap execs_;   // by CUgraphExec and device: bytes
  AddressMap backed_;  // by CUgraphExec: `bytes` is the backing() at the time of its first run
  std::atomic<std::uint64_t> backing_{1};
  std::atomic<std::uint64_t> last_reserved_[ledger::kMaxDevices] = {};
  GrowthCharge charges_[ledger::kMaxDevices];
};

}  // namespace divvy::interposer
