#include "nvml_view.h"

#include <string.h>

#include "nvml_driver.h"

namespace divvy::interposer {
namespace {

bool isInstanceUuid(const char* uuid) {
  return ::strncmp(uuid, "MIG-", 4) == 0;
}

}  // namespace

void DeviceView::build(const ledger::ControlPage& control, unsigned device_count) {
  for (unsigned i = 0; i < device_count && i < ledger::kMaxDevices; ++i) {
    const ledger::DeviceControl& device = control.devices[i];
    const std::uint64_t pci = pciOrder(device.pci_bus_id, sizeof device.pci_bus_id);
    const bool instance = isInstanceUuid(device.uuid);
    unsigned card = card_count_;
    for (unsigned c = 0; instance && c < card_count_; ++c) {
      if (pci != kNoAddress && cards_[c].pci == pci) card = c;
    }
    if (card == card_count_) {
      cards_[card_count_].pci = pci;
      ++card_count_;
    }
    Unit& unit = instance ? instances_[instance_count_++] : cards_[card];
    ::memcpy(unit.uuid, device.uuid, sizeof device.uuid);
    unit.pci = pci;
    unit.card = static_cast<std::uint8_t>(card);
    unit.shares = static_cast<std::uint16_t>(unit.shares | 1u << i);
    cards_[card].shares = static_cast<std::uint16_t>(cards_[card].shares | 1u << i);
  }
  sortCards();
}

// Selection by rank: few cards, and units hold an atomic, which cannot be moved.
void DeviceView::sortCards() {
  struct Plain {
    char uuid[sizeof Unit::uuid];
    std::uint64_t pci;
    std::uint16_t shares;
  } old[ledger::kMaxDevices];
  std::uint8_t rank[ledger::kMaxDevices] = {};
  for (unsigned i = 0; i < card_count_; ++i) {
    ::memcpy(old[i].uuid, cards_[i].uuid, sizeof old[i].uuid);
    old[i].pci = cards_[i].pci;
    old[i].shares = cards_[i].shares;
    for (unsigned j = 0; j < card_count_; ++j) {
      const bool before =
          cards_[j].pci < cards_[i].pci || (cards_[j].pci == cards_[i].pci && j < i);
      rank[i] = static_cast<std::uint8_t>(rank[i] + (before ? 1 : 0));
    }
  }
  for (unsigned i = 0; i < card_count_; ++i) {
    Unit& card = cards_[rank[i]];
    ::memcpy(card.uuid, old[i].uuid, sizeof card.uuid);
    card.pci = old[i].pci;
    card.shares = old[i].shares;
    card.card = rank[i];
  }
  for (unsigned i = 0; i < instance_count_; ++i) instances_[i].card = rank[instances_[i].card];
}

nvmlReturn_t DeviceView::lookUp(Unit& unit) {
  if (unit.handle.load(std::memory_order_acquire) != nullptr) return NVML_SUCCESS;
  nvmlDevice_t handle = nullptr;
  nvmlReturn_t result = NVML_ERROR_NOT_FOUND;
  if (unit.uuid[0] != '\0') {
    result = driver<abi::Nv::nvmlDeviceGetHandleByUUID>(unit.uuid, &handle);
  } else {
    for (unsigned i = 0; i < instance_count_ && result != NVML_SUCCESS; ++i) {
      if (instances_[i].card != unit.card) continue;
      result = lookUp(instances_[i]);
      if (result != NVML_SUCCESS) continue;
      result = driver<abi::Nv::nvmlDeviceGetDeviceHandleFromMigDeviceHandle>(
          instances_[i].handle.load(std::memory_order_relaxed), &handle);
    }
  }
  if (result == NVML_SUCCESS) unit.handle.store(handle, std::memory_order_release);
  return result;
}

nvmlReturn_t DeviceView::cardHandle(unsigned index, nvmlDevice_t* handle) {
  if (index >= card_count_) return NVML_ERROR_INVALID_ARGUMENT;
  const nvmlReturn_t result = lookUp(cards_[index]);
  if (result == NVML_SUCCESS) *handle = cards_[index].handle.load(std::memory_order_acquire);
  return result;
}

nvmlReturn_t DeviceView::instanceHandle(const Unit& card, unsigned index, nvmlDevice_t* handle) {
  for (unsigned i = 0; i < instance_count_; ++i) {
    if (instances_[i].card != card.card || index-- != 0) continue;
    const nvmlReturn_t result = lookUp(instances_[i]);
    if (result == NVML_SUCCESS) *handle = instances_[i].handle.load(std::memory_order_acquire);
    return result;
  }
  return NVML_ERROR_NOT_FOUND;
}

Unit* DeviceView::scan(nvmlDevice_t handle, bool* complete) {
  *complete = true;
  for (unsigned i = 0; i < card_count_; ++i) {
    const nvmlDevice_t mine = cards_[i].handle.load(std::memory_order_acquire);
    if (mine == handle && mine != nullptr) return &cards_[i];
    *complete = *complete && mine != nullptr;
  }
  for (unsigned i = 0; i < instance_count_; ++i) {
    const nvmlDevice_t mine = instances_[i].handle.load(std::memory_order_acquire);
    if (mine == handle && mine != nullptr) return &instances_[i];
    *complete = *complete && mine != nullptr;
  }
  return nullptr;
}

Unit* DeviceView::find(nvmlDevice_t handle) {
  bool complete;
  Unit* unit = scan(handle, &complete);
  if (unit != nullptr || complete) return unit;
  for (unsigned i = 0; i < card_count_; ++i) lookUp(cards_[i]);
  for (unsigned i = 0; i < instance_count_; ++i) lookUp(instances_[i]);
  return scan(handle, &complete);
}

bool DeviceView::holds(nvmlDevice_t handle) {
  if (find(handle) != nullptr) return true;
  nvmlDevice_t card = nullptr;
  if (driver<abi::Nv::nvmlDeviceGetDeviceHandleFromMigDeviceHandle>(handle, &card) !=
      NVML_SUCCESS) {
    return false;
  }
  const Unit* unit = find(card);
  return unit != nullptr && unit->uuid[0] != '\0';
}

unsigned DeviceView::indexOf(const Unit& unit) const {
  if (!isInstance(unit)) return unit.card;
  unsigned index = 0;
  for (const Unit* other = instances_; other != &unit; ++other) {
    index += other->card == unit.card ? 1 : 0;
  }
  return index;
}

Unit* DeviceView::unitOfShare(unsigned share) {
  for (unsigned i = 0; i < instance_count_; ++i) {
    if ((instances_[i].shares >> share & 1u) != 0) return &instances_[i];
  }
  for (unsigned i = 0; i < card_count_; ++i) {
    if ((cards_[i].shares >> share & 1u) != 0) return &cards_[i];
  }
  return nullptr;
}

void DeviceView::forgetHandles() {
  for (Unit& card : cards_) card.handle.store(nullptr, std::memory_order_release);
  for (Unit& instance : instances_) instance.handle.store(nullptr, std::memory_order_release);
}

}  // namespace divvy::interposer
