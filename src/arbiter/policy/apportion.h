// Divides a tenant's memory on a device among its processes.
#pragma once

#include <cstdint>
#include <vector>

namespace divvy::arbiter {

// One process on one device; bytes.
struct SplitPart {
  std::uint64_t pinned = 0;  // requested memory included
  std::uint64_t mapped = 0;
  std::uint64_t swappable = 0;
};

// Returns each process's part, in the order given; the sum is at most `allowed`. Pinned memory is
// served first. Then memory that is on the device already; if it does not fit, the process that has
// most of it gives first. Then missing swappable memory. The rest is split evenly.
std::vector<std::uint64_t> splitAllowed(std::uint64_t allowed, const std::vector<SplitPart>& parts);

}  // namespace divvy::arbiter
