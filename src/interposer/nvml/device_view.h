// The tenant's devices as NVML numbers them: cards in PCI order, MIG instances below their card.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/nvml_types.h"
#include "device/pci_order.h"
#include "ledger/layout.h"

namespace divvy::interposer {

// A card or a MIG instance that the tenant may see.
struct Unit {
  // Null until DeviceView::lookUp, and again after any thread's nvmlShutdown: lookUp alone tells
  // it.
  mutable std::atomic<nvmlDevice_t> handle{nullptr};
  char uuid[sizeof(ledger::DeviceControl::uuid) + 1] = {};  // empty: a card seen for its instances
  std::uint64_t pci = 0;                                    // sorts as PCI addresses do
  std::uint16_t shares = 0;  // bit i: device i of the control page lies in it
  std::uint8_t card = 0;     // of an instance: its card; of a card: itself
};

// Which units there are is settled once, from the control page alone; handles are looked up when
// they are first needed, with the caller's NVML initialised. Any thread.
class DeviceView {
 public:
  // Reads the first `device_count` devices. Not concurrently with anything else.
  void build(const ledger::ControlPage& control, unsigned device_count);

  unsigned cardCount() const { return card_count_; }
  // Handle of the tenant's card `index`, as the driver gives it out; its error otherwise.
  nvmlReturn_t cardHandle(unsigned index, nvmlDevice_t* handle) const;
  // Handle of the tenant's instance `index` on that card. NVML_ERROR_NOT_FOUND beyond the last.
  nvmlReturn_t instanceHandle(const Unit& card, unsigned index, nvmlDevice_t* handle) const;

  // Handle of a unit, as the driver gives it out; its error otherwise.
  nvmlReturn_t lookUp(const Unit& unit, nvmlDevice_t* handle) const;

  // The unit with this handle, or nullptr for a handle that is not the tenant's.
  Unit* find(nvmlDevice_t handle);
  // True for a card or an instance of the tenant, and for every instance on a card that the tenant
  // has as a whole.
  bool holds(nvmlDevice_t handle);

  bool isInstance(const Unit& unit) const {
    return &unit >= instances_ && &unit < instances_ + ledger::kMaxDevices;
  }
  // Position among the cards, or among the instances of its card.
  unsigned indexOf(const Unit& unit) const;
  // The instance (or whole card) that a device of the control page is.
  Unit* unitOfShare(unsigned share);

  // NVML was shut down: handles will be looked up anew.
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
