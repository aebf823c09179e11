// Memory that graphs take through their allocation nodes.
#pragma once

#include "accounting/reserved_growth.h"
#include "device/device_map.h"
#include "loader/driver_table.h"
#include "support/address_map.h"

namespace divvy::interposer {

// An executable graph with allocation nodes takes its memory when it is uploaded or launched, from
// a pool that the driver keeps for each device. The memory stays there for the next launch until
// cuDeviceGraphMemTrim. The charge is the memory that the pool has reserved. Programs without
// allocation nodes pay one load for each graph call.
class GraphMemory {
 public:
  // Returns whether this process ever made an allocation node, directly or by capture.
  bool any() const { return any_.load(std::memory_order_acquire); }
  void noteAllocationNode() { any_.store(true, std::memory_order_release); }

  // The most bytes that a graph's allocation nodes can take (including child graphs), by ledger
  // device.
  struct Need {
    std::uint64_t bytes[ledger::kMaxDevices] = {};
    bool any = false;
    // The largest one.
    std::uint64_t most() const {
      std::uint64_t found = 0;
      for (const std::uint64_t one : bytes) found = one > found ? one : found;
      return found;
    }
  };
  Need needOf(CUgraph graph) const;

  // The need that an executable graph was instantiated with.
  void remember(CUgraphExec exec, const Need& need);
  Need needOf(CUgraphExec exec) const;
  void forget(CUgraphExec exec);

  // An executable graph that ran keeps its memory until a trim takes some away; until then another
  // launch needs no memory. backing() numbers the periods between such trims.
  std::uint64_t backing() const { return backing_.load(std::memory_order_acquire); }
  bool isBacked(CUgraphExec exec) const;
  void noteBacked(CUgraphExec exec, std::uint64_t backing);

  // Surround a call that may back `need` with memory. begin() returns false if there is no room.
  bool begin(const Need& need);
  void end(const Need& need);

  // Corrects the charge of a device (kNoDevice: all) by the driver's value. That value also shows
  // whether a trim took memory away.
  void settle(unsigned device);
  // Makes the driver give back memory that no graph uses.
  void trim(unsigned device);

  void forgetAfterFork();

 private:
  std::atomic<bool> any_{false};
  AddressMap execs_;   // by CUgraphExec and device: bytes
  AddressMap backed_;  // by CUgraphExec: `bytes` is the backing() when it was backed
  std::atomic<std::uint64_t> backing_{1};
  std::atomic<std::uint64_t> last_reserved_[ledger::kMaxDevices] = {};
  GrowthCharge charges_[ledger::kMaxDevices];
};

}  // namespace divvy::interposer
