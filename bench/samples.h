// Measured values and what is said about them.
#pragma once

#include <string_view>
#include <vector>

namespace divvy::bench {

using Samples = std::vector<double>;

// The values of the lines "KEY VALUE" in a probe's output, in order.
Samples samplesOf(std::string_view output, std::string_view key);

// `fraction` of the values are at most the result (nearest rank). NaN when there are none.
double percentile(Samples values, double fraction);
double median(const Samples& values);
double largest(const Samples& values);

void append(Samples& to, const Samples& more);

}  // namespace divvy::bench
