// Contexts cost device memory before anything is allocated in them.
#pragma once

#include <atomic>

#include "device/device_map.h"
#include "ledger/layout.h"
#include "loader/driver_table.h"
#include "support/address_map.h"

namespace divvy::interposer {

// The overhead of primary contexts, one charge per device, kept equal to what the driver says about
// the context: charged from before the call that may make it to after the one that ended it. The
// driver counts the retains itself, so nothing is counted here.
class PrimaryContexts {
 public:
  // To be called before anything that may activate the device's primary context. False: its cost
  // is not to be had.
  bool admit(unsigned device);

  // To be called after anything that may have ended it, or failed to make it: asks the driver, and
  // gives the cost back if there is no context. True if this call found it ended.
  bool settle(unsigned device, CUdevice driver_device);

  bool charged(unsigned device) const {
    return (words_[device].load(std::memory_order_acquire) & kCharged) != 0;
  }

  // The handle, for telling which arrays die with it; null while unknown.
  void setHandle(unsigned device, CUcontext context) {
    handles_[device].store(context, std::memory_order_release);
  }
  CUcontext handle(unsigned device) const {
    return handles_[device].load(std::memory_order_acquire);
  }

  void forgetAfterFork();

 private:
  // Bit 0: charged. Above: grows with every admit, so that a settle that asked the driver before
  // somebody else's retain cannot take the charge away after it.
  static constexpr std::uint64_t kCharged = 1;
  static constexpr std::uint64_t kStep = 2;

  std::atomic<std::uint64_t> words_[ledger::kMaxDevices] = {};
  std::atomic<CUcontext> handles_[ledger::kMaxDevices] = {};
};

// What one context is charged with on a ledger device, by the control page. 0 only where an older
// agent made the page and counts contexts outside the share.
std::uint64_t contextBytes(unsigned device);

// Shows in the tenant's report what this process' contexts cost, changed by `bytes`.
void noteContext(std::int64_t bytes);

// Forgets, and gives back, the blocks that were freed by the end of a context on ledger device
// `device`: those whose address the driver no longer knows, and the arrays made in `context`.
void sweepAfterContext(unsigned device, CUcontext context);

}  // namespace divvy::interposer
