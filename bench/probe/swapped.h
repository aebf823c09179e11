// A program whose memory is swapped, as the bench of swapping sees it.
#pragma once

#include <cstdint>

namespace divvy::bench {

// Fills `bytes` of device memory, says that it is ready, uses them for nothing until its standard
// input ends, then looks at every one of them: "mismatched BYTES". 0 when all went well. With `hot`
// it has kernels read so many of them meanwhile, 8 MiB each, one after the other: the first ones,
// and from the first byte of input on those behind them.
int beSwapped(std::uint64_t bytes, std::uint64_t seed, std::uint64_t hot);

}  // namespace divvy::bench
