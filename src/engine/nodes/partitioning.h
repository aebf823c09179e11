// Which part of a device, and where: of one device, from what is left of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/partition.h"
#include "engine/refusal.h"

namespace divvy::engine {

// What is wanted: that one, or, without a name, any with so much memory and compute.
struct PartRequest {
  PartName name;
  std::int64_t bytes = 0;
  std::int32_t compute = 0;
};

// What is left of a device.
struct PartRoom {
  std::int64_t memory = 0;
  std::int32_t compute = 0;
  std::uint32_t cpus = 0;
  std::uint32_t taken = 0;  // slices, a bit each
};

struct PartPick {
  std::size_t part = 0;  // of the parting
  std::uint32_t start = 0;
  friend bool operator==(PartPick, PartPick) = default;
};

// The slices that it takes.
std::uint32_t slicesOf(const DevicePart& part, std::uint32_t start);

// How many more of that part would go there, were it the only one.
std::uint32_t mostOf(const Partitioning& parting, const DevicePart& part, std::uint32_t taken);

// All ways to have what is wanted now: the smallest part that is enough first, and each first where
// it leaves room for the most of the largest parts (then of the next smaller ones, and so on; of
// equal places the last).
std::vector<PartPick> waysFor(const Partitioning& parting, const PartRoom& room,
                              const PartRequest& wish);

// Why there is no way, of the smallest part that is enough; and what it needed and had.
DeviceRefusal whyNoWay(const Partitioning& parting, const PartRoom& room, const PartRequest& wish);

// Such a part may begin there.
bool isWay(const Partitioning& parting, const PartName& name, std::uint32_t start,
           std::uint32_t size);

// kUsage says what is accepted.
Result<void> checkParting(const Partitioning& parting, const std::string& who);

}  // namespace divvy::engine
