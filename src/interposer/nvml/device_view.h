// The tenant's devices in NVML's numbering: physical devices in PCI order, MIG instances below
// them. A "card" in names here is a physical device.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/nvml_types.h"
#include "device/pci_order.h"
#include "ledger/layout.h"

namespace divvy::interposer {

// A physical device or a MIG instance that the tenant may see.
struct Unit {
  // Null before DeviceView::lookUp(), and again after any thread's nvmlShutdown; only lookUp()
  // reads the handle.
  mutable std::atomic<nvmlDevice_t> handle{nullptr};
  char uuid[sizeof(ledger::DeviceControl::uuid) + 1] = {};  // empty: seen only for its instances
  std::uint64_t pci = 0;                                    // sorts as PCI addresses do
  std::uint16_t shares = 0;  // bit i: device i of the control page lies in it
  std::uint8_t card = 0;     // of an instance: its device; of a device: itself
};

// The set of units is determined once, from the control page alone. Handles are looked up at their
// first use, while the caller's NVML is initialised. Any thread.
class DeviceView {
 public:
  // Reads the first `device_count` devices. Must not run concurrently with other members.
  void build(const ledger::ControlPage& control, unsigned device_count);

  unsigned cardCount() const { return card_count_; }
  // Returns the driver's handle of the tenant's device `index`, or the driver's error.
  nvmlReturn_t cardHandle(unsigned index, nvmlDevice_t* handle) const;
  // Returns the handle of the tenant's instance `index` on that device; NVML_ERROR_NOT_FOUND beyond
  // the last instance.
  nvmlReturn_t instanceHandle(const Unit& card, unsigned index, nvmlDevice_t* handle) const;

  // Returns the driver's handle of a unit, or the driver's error.
  nvmlReturn_t lookUp(const Unit& unit, nvmlDevice_t* handle) const;

  // Returns the unit with this handle; nullptr for a handle that is not the tenant's.
  Unit* find(nvmlDevice_t handle);
  // Returns true for a device or instance of the tenant, and for every instance on a device that
  // the tenant has as a whole.
  bool holds(nvmlDevice_t handle);

  bool isInstance(const Unit& unit) const {
    return &unit >= instances_ && &unit < instances_ + ledger::kMaxDevices;
  }
  // Returns the position among the devices, or among the instances of the unit's device.
  unsigned indexOf(const Unit& unit) const;
  // Returns the instance (or whole device) that a device of the control page is.
  Unit* unitOfShare(unsigned share);

  // Notes that NVML was shut down: handles are looked up again.
  void forgetHandles();

 private:
  static_assert(ledger::kMaxDevices <= 16, "Unit::shares");

  void sortCards();
  template <typename Match>
  Unit* firstUnit(Match match);
  nvmlReturn_t ask(const Unit& unit, nvmlDevice_t* handle) const;

  std::atomic<unsigned> session_{0};  // counts shutdowns
  Unit cards_[ledger::kMaxDevices];
  Unit instances_[ledger::kMaxDevices];
  unsigned card_count_ = 0;
  unsigned instance_count_ = 0;
};

}  // namespace divvy::interposer
