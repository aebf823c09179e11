// A card as this process sees it through the driver API: after CUDA_VISIBLE_DEVICES and
// CUDA_DEVICE_ORDER. Devices are made once by cuInit and live until the process ends.
#pragma once

#include "abi/cuda_types.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "card/card.h"
#include "card/profile.h"

namespace divvy::simgpu {

class Context;
class MemPool;

struct Device {
  int ordinal;     // CUdevice
  int card_index;  // position among what the host's programs can use, in PCI order
  const Profile* profile;
  CardIdentity identity;
  CardIdentity board;  // the same, but of an instance its card's
  Card card;

  std::mutex mutex;  // guards what follows
  Context* primary = nullptr;
  int primary_references = 0;
  unsigned primary_flags = 0;
  int context_count = 0;  // live contexts of this process on this device

  MemPool* default_pool = nullptr;               // made on first use
  std::atomic<MemPool*> current_pool = nullptr;  // cuDeviceSetMemPool
  MemPool* graph_pool = nullptr;                 // backs graph memory nodes
};

// nullptr if there is no such ordinal. Valid after cuInit.
Device* findDevice(CUdevice ordinal);
int deviceCount();

// CUDA_DEVICE_ORDER: card indices in the order in which CUDA numbers them. "PCI_BUS_ID", or
// (anything else, nullptr included) the fastest first, equal ones by PCI.
std::vector<int> cudaOrder(const char* text, const Machine& machine);

// CUDA_VISIBLE_DEVICES: positions in `uuids` (the cards in CUDA's order) that become devices 0, 1,
// ... The list ends before the first entry that is malformed, unknown or ambiguous; a repeated
// entry makes it empty. nullptr: all cards. A process can use at most one instance of a partitioned
// card, and no device with it: the first that is named; without cards, the first of all.
std::vector<int> visibleCards(const char* text, const std::vector<std::string>& uuids);

}  // namespace divvy::simgpu
