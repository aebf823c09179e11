// Choice of a partition and its position on one device.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/partition.h"
#include "engine/refusal.h"

namespace divvy::engine {

// A partition by name, or without a name any with so much memory and compute.
struct PartRequest {
  PartName name;
  std::int64_t bytes = 0;
  std::int32_t compute = 0;
};

// Free capacity of a device.
struct PartRoom {
  std::int64_t memory = 0;
  std::int32_t compute = 0;
  std::uint32_t cpus = 0;
  std::uint32_t taken = 0;  // slices, as a bit set
};

struct PartPick {
  std::size_t part = 0;  // index in Partitioning::parts
  std::uint32_t start = 0;
  friend bool operator==(PartPick, PartPick) = default;
};

// Returns the slices that the partition takes, as a bit set.
std::uint32_t slicesOf(const DevicePart& part, std::uint32_t start);

// Returns how many more partitions of this kind fit, if no others are added.
std::uint32_t mostOf(const Partitioning& parting, const DevicePart& part, std::uint32_t taken);

// Returns all ways to place the request now, the smallest sufficient partition first. Positions
// that leave room for the most of the largest partitions go first, then of the next smaller ones.
// Among equals the last position goes first.
std::vector<PartPick> waysFor(const Partitioning& parting, const PartRoom& room,
                              const PartRequest& wish);

// Returns why there is no way, for the smallest sufficient partition, with the amounts needed and
// available.
DeviceRefusal whyNoWay(const Partitioning& parting, const PartRoom& room, const PartRequest& wish);

// Returns true if a partition of that name and size may begin there.
bool isWay(const Partitioning& parting, const PartName& name, std::uint32_t start,
           std::uint32_t size);

// kUsage: the message names what is accepted.
Result<void> checkParting(const Partitioning& parting, const std::string& who);

}  // namespace divvy::engine
