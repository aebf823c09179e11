// Managed memory: pages live on the host or on one card, and move when the device touches them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {

// Where each large page of a managed allocation is: kOnHost, or a device ordinal.
inline constexpr int kOnHost = -1;
struct ManagedPages {
  std::vector<std::int8_t> at;
  int preferred_device = -2;  // cuMemAdvise; -2: none, -1: host
  int last_prefetch = -2;
  bool read_mostly = false;
  std::array<bool, kMaxCards> accessed_by{};
};

CUresult allocateManaged(Context& context, std::size_t bytes, unsigned flags, CUdeviceptr* out);

// A device is about to touch part of a managed region: its pages move there and are charged to the
// card. When the card is full, other managed pages of this process make room; when there are none,
// the pages stay and are accessed over the link. Under the table's mutex, exclusive.
void moveManaged(Region& region, CUdeviceptr address, std::size_t bytes, Device* to);
// True if the range is where `device` can use it without moving anything.
bool managedResident(const Region& region, CUdeviceptr address, std::size_t bytes,
                     const Device& device);

// Refunds what is on cards and takes the host's access away. Under the table's mutex, exclusive.
void dropManaged(Region& region);

}  // namespace divvy::simgpu
