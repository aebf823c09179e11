// When the requests of an open-loop service arrive.
#pragma once

#include <cstdint>
#include <vector>

namespace divvy::bench {

// The first `count` arrivals of a Poisson process of `per_second`, nanoseconds from its start,
// ascending. The same seed gives the same list on every machine.
std::vector<std::uint64_t> poissonArrivals(std::uint64_t seed, double per_second,
                                           std::size_t count);

}  // namespace divvy::bench
