#include "nvml/device_view.h"

#include <string.h>

#include "nvml/nvml_table.h"

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

// Selection sort: there are few cards, and units hold an atomic, which cannot be moved.
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

nvmlReturn_t DeviceView::ask(const Unit& unit, nvmlDevice_t* handle) const {
  if (unit.uuid[0] != '\0') {
    return driver<abi::Nv::nvmlDeviceGetHandleByUUID>(unit.uuid, handle);
  }
  nvmlReturn_t result = NVML_ERROR_NOT_FOUND;
  for (unsigned i = 0; i < instance_count_ && result != NVML_SUCCESS; ++i) {
    if (instances_[i].card != unit.card) continue;
    nvmlDevice_t instance = nullptr;
    result = lookUp(instances_[i], &instance);
    if (result != NVML_SUCCESS) continue;
    result = driver<abi::Nv::nvmlDeviceGetDeviceHandleFromMigDeviceHandle>(instance, handle);
  }
  return result;
}

nvmlReturn_t DeviceView::lookUp(const Unit& unit, nvmlDevice_t* handle) const {
  nvmlDevice_t known = unit.handle.load(std::memory_order_acquire);
  if (known == nullptr) {
    const unsigned session = session_.load();
    const nvmlReturn_t result = ask(unit, &known);
    if (result != NVML_SUCCESS) return result;
    unit.handle.store(known);
    // forgetHandles may have passed this unit meanwhile; the handle then belongs to an earlier
    // session.
    if (session_.load() != session) unit.handle.store(nullptr);
  }
  *handle = known;
  return NVML_SUCCESS;
}

nvmlReturn_t DeviceView::cardHandle(unsigned index, nvmlDevice_t* handle) const {
  if (index >= card_count_) return NVML_ERROR_INVALID_ARGUMENT;
  return lookUp(cards_[index], handle);
}

nvmlReturn_t DeviceView::instanceHandle(const Unit& card, unsigned index,
                                        nvmlDevice_t* handle) const {
  for (unsigned i = 0; i < instance_count_; ++i) {
    if (instances_[i].card == card.card && index-- == 0) return lookUp(instances_[i], handle);
  }
  return NVML_ERROR_NOT_FOUND;
}

template <typename Match>
Unit* DeviceView::firstUnit(Match match) {
  for (unsigned i = 0; i < card_count_; ++i) {
    if (match(cards_[i])) return &cards_[i];
  }
  for (unsigned i = 0; i < instance_count_; ++i) {
    if (match(instances_[i])) return &instances_[i];
  }
  return nullptr;
}

// Avoids the driver where possible. The result of a look-up is compared at once. A second read of
// the units could find their handles reset, and take the tenant's own device for a foreign one.
Unit* DeviceView::find(nvmlDevice_t handle) {
  if (handle == nullptr) return nullptr;
  Unit* unit = firstUnit([=](const Unit& candidate) {
    return candidate.handle.load(std::memory_order_acquire) == handle;
  });
  if (unit != nullptr) return unit;
  return firstUnit([this, handle](const Unit& candidate) {
    nvmlDevice_t found = nullptr;
    return lookUp(candidate, &found) == NVML_SUCCESS && found == handle;
  });
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
  // Sequentially consistent, like the accesses in lookUp: a thread that stores a handle after these
  // stores sees the new session.
  session_.fetch_add(1);
  for (Unit& card : cards_) card.handle.store(nullptr);
  for (Unit& instance : instances_) instance.handle.store(nullptr);
}

}  // namespace divvy::interposer
