// What a tenant may have on a device, among its processes.
#pragma once

#include <cstdint>
#include <vector>

namespace divvy::arbiter {

// One process on one device; bytes.
struct SplitPart {
  std::uint64_t pinned = 0;  // asked for included
  std::uint64_t mapped = 0;
  std::uint64_t swappable = 0;
};

// For each process, in the order given; never more than `allowed` in all. First what is pinned,
// then what is on the device already: of that, the process that has most gives first. Then what is
// missing, then what nobody needs yet.
std::vector<std::uint64_t> splitAllowed(std::uint64_t allowed, const std::vector<SplitPart>& parts);

}  // namespace divvy::arbiter
