// A program whose memory is swapped, as the bench of swapping sees it.
#pragma once

#include <cstdint>

namespace divvy::bench {

// Fills `bytes` of device memory, says that it is ready, uses them for nothing until its standard
// input ends, then looks at every one of them: "mismatched BYTES". 0 when all went well.
int beSwapped(std::uint64_t bytes, std::uint64_t seed);

}  // namespace divvy::bench
