#include "samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

namespace divvy::bench {

Samples samplesOf(std::string_view output, std::string_view key) {
  Samples values;
  std::istringstream lines{std::string(output)};
  std::string word;
  double value = 0;
  while (lines >> word >> value) {
    if (word == key) values.push_back(value);
  }
  return values;
}

double percentile(Samples values, double fraction) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto rank = std::ceil(fraction * static_cast<double>(values.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

double median(const Samples& values) {
  return percentile(values, 0.5);
}

double largest(const Samples& values) {
  return percentile(values, 1.0);
}

void append(Samples& to, const Samples& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace divvy::bench
