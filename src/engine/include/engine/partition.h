// Partitions of a device in hardware: MIG instances, vNPU templates, slices.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/name.h"
#include "engine/units.h"

namespace divvy::engine {

using PartName = Name<struct PartNameKind>;

struct DevicePart {
  PartName name;  // "1g.10gb", "vir02"
  Bytes memory;
  Compute compute;         // thousandths of the device, rounded down
  std::uint32_t cpus = 0;  // of the device's own processors
  // On a device with slices: number of slices in a row, and where such a row may begin.
  std::uint32_t size = 0;
  std::vector<std::uint32_t> starts;
};

inline constexpr std::uint32_t kMaxSlices = 16;

// The partitions that a device can be split into. On a device with slices, only the slices
// determine which partitions fit together, because their memory is slightly different from the
// slices' memory. On other devices the sums of memory, compute and processors do.
struct Partitioning {
  // Ascending by memory; among equals the one with fewer slices first.
  std::vector<DevicePart> parts;
  std::uint32_t cpus = 0;
  std::uint32_t slices = 0;
};

}  // namespace divvy::engine
