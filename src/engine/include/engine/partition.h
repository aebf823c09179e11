// Parts of a device as its hardware makes them: MIG instances, vNPU templates, slices.
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
  // On a device that has slices: so many in a row, and where a row may begin.
  std::uint32_t size = 0;
  std::vector<std::uint32_t> starts;
};

inline constexpr std::uint32_t kMaxSlices = 16;

// What a device can be split into. Where it has slices those alone say which parts can be beside
// each other (their memory is a little more or less than a slice's); else the sums of memory,
// compute and processors do.
struct Partitioning {
  std::vector<DevicePart> parts;  // ascending by memory; of equals the one with fewer slices first
  std::uint32_t cpus = 0;
  std::uint32_t slices = 0;
};

}  // namespace divvy::engine
