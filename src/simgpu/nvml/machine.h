// The one object of a process that uses the simulated management library. It holds the machine's
// cards as NVML shows them: all of them, in PCI order, whatever the value of CUDA_VISIBLE_DEVICES.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "card/card.h"
#include "card/profile.h"
#include "card/topology.h"
#include "simgpu/nvml_impls.h"

namespace divvy::simgpu {

// A card, or an instance of a partitioned one; the target of nvmlDevice_t. Lives as long as the
// library.
class NvmlCard {
 public:
  // `index`: among the machine's cards, or those of its card. `unit`: among what programs can use;
  // -1: a partitioned card, of which that is its parts.
  NvmlCard(const Profile& profile, const CardIdentity& identity, std::string dir, int index,
           int unit, NvmlCard* whole = nullptr)
      : profile_(profile),
        identity_(identity),
        dir_(std::move(dir)),
        index_(index),
        unit_(unit),
        whole_(whole) {}

  const Profile& profile() const { return profile_; }
  const CardIdentity& identity() const { return identity_; }
  int index() const { return index_; }
  nvmlDevice_t handle() { return reinterpret_cast<nvmlDevice_t>(this); }

  // Its place among the machine's cards; of an instance its card's.
  int parentIndex() const { return whole_ != nullptr ? whole_->index_ : index_; }

  // The card of an instance; else nullptr.
  NvmlCard* whole() const { return whole_; }
  bool partitioned() const { return unit_ < 0; }
  const std::vector<std::unique_ptr<NvmlCard>>& parts() const { return parts_; }
  void addPart(std::unique_ptr<NvmlCard> part) { parts_.push_back(std::move(part)); }
  // The driver's number of an instance on its card.
  unsigned instanceId() const { return static_cast<unsigned>(index_) + 1; }

  // The card's accounts. nullptr while no program has used the card, or if it is partitioned. Any
  // thread.
  Card* sharedCard();
  // The card's accounts, created if no program has used the card yet. nullptr if that is not
  // possible.
  Card* makeSharedCard();
  // Fallen off the bus: all instances of a card have.
  bool lost();

 private:
  bool lostItself();

  const Profile& profile_;
  CardIdentity identity_;
  std::string dir_;
  int index_;
  int unit_;
  NvmlCard* whole_;
  std::vector<std::unique_ptr<NvmlCard>> parts_;
  std::mutex mutex_;
  std::atomic<bool> open_{false};
  Card card_;
};

class NvmlMachine {
 public:
  static NvmlMachine& get();

  // nvmlInit: counted, like the real one. NVML_ERROR_DRIVER_NOT_LOADED: no such profile.
  nvmlReturn_t init();
  nvmlReturn_t shutdown();

  bool ready() const { return references_.load(std::memory_order_acquire) > 0; }
  const std::vector<std::unique_ptr<NvmlCard>>& cards() const { return cards_; }
  const CardTopology& topology() const { return topology_; }
  // nullptr when the handle is none of ours.
  NvmlCard* find(nvmlDevice_t device) const;
  // SIMGPU_FAULTS has "lost" for this process.
  bool lostHere() const { return lost_here_; }
  int driverVersion() const { return driver_version_; }

 private:
  nvmlReturn_t load();

  std::mutex mutex_;
  std::atomic<int> references_{0};
  bool loaded_ = false;
  bool lost_here_ = false;
  int driver_version_ = 0;
  std::vector<std::unique_ptr<NvmlCard>> cards_;
  CardTopology topology_{{}};
};

// How every call begins: NVML_ERROR_UNINITIALIZED before init.
template <typename Body>
nvmlReturn_t withNvml(Body&& body) noexcept {
  if (!NvmlMachine::get().ready()) return NVML_ERROR_UNINITIALIZED;
  try {
    return body(NvmlMachine::get());
  } catch (const std::bad_alloc&) {
    return NVML_ERROR_MEMORY;
  }
}

// For a call about one card: INVALID_ARGUMENT for a handle that is none, GPU_IS_LOST for a card
// that fell off the bus.
template <typename Body>
nvmlReturn_t withCard(nvmlDevice_t device, Body&& body) noexcept {
  return withNvml([&](NvmlMachine& machine) -> nvmlReturn_t {
    NvmlCard* card = machine.find(device);
    if (card == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (machine.lostHere() || card->lost()) return NVML_ERROR_GPU_IS_LOST;
    return body(*card);
  });
}

// For a call that answers one value.
template <typename T, typename Body>
nvmlReturn_t answer(nvmlDevice_t device, T* out, Body&& body) noexcept {
  return withCard(device, [&](NvmlCard& card) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = static_cast<T>(body(card));
    return NVML_SUCCESS;
  });
}

// Copies text with its zero. INSUFFICIENT_SIZE when it does not fit, INVALID_ARGUMENT for nullptr.
nvmlReturn_t copyText(const std::string& text, char* out, unsigned length);

}  // namespace divvy::simgpu
