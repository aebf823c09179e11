// Contexts take device memory before any allocation.
#pragma once

#include <atomic>

#include "device/device_map.h"
#include "ledger/layout.h"
#include "loader/driver_table.h"
#include "support/address_map.h"

namespace divvy::interposer {

// The overhead of primary contexts: one charge per device, which follows the driver's state of the
// context. It is charged from before the call that may create the context until after the call that
// ended it. The driver counts retains itself, so they are not counted here.
class PrimaryContexts {
 public:
  // Charges the device's primary context. To be called before any call that may activate it.
  // Returns false if there is no room for its cost.
  bool admit(unsigned device);

  // Asks the driver for the context's state and gives the charge back if there is no context. To be
  // called after any call that may have ended it, or failed to create it. Returns true if this call
  // found it ended.
  bool settle(unsigned device, CUdevice driver_device);

  bool charged(unsigned device) const {
    return (words_[device].load(std::memory_order_acquire) & kCharged) != 0;
  }

  // The handle, which identifies the arrays that end with the context; null while unknown.
  void setHandle(unsigned device, CUcontext context) {
    handles_[device].store(context, std::memory_order_release);
  }
  CUcontext handle(unsigned device) const {
    return handles_[device].load(std::memory_order_acquire);
  }

  void forgetAfterFork();

 private:
  // Bit 0: charged. The bits above grow with every admit(). So a settle() that asked the driver
  // before another thread's retain cannot remove the charge after that retain.
  static constexpr std::uint64_t kCharged = 1;
  static constexpr std::uint64_t kStep = 2;

  std::atomic<std::uint64_t> words_[ledger::kMaxDevices] = {};
  std::atomic<CUcontext> handles_[ledger::kMaxDevices] = {};
};

// Returns the charge of one context on a ledger device, by the control page. 0 only if an older
// agent made the page, which counts contexts outside of the share.
std::uint64_t contextBytes(unsigned device);

// Publishes a change of `bytes` in the cost of this process's contexts.
void noteContext(std::int64_t bytes);

// Removes, and gives back, the blocks on ledger device `device` that were freed by the end of a
// context. These are the blocks with an address that the driver does not know, and the arrays made
// in `context`.
void sweepAfterContext(unsigned device, CUcontext context);

}  // namespace divvy::interposer
