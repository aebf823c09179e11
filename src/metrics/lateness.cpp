#include "metrics/lateness.h"

#include <algorithm>

namespace divvy::metrics {

void Lateness::add(double seconds, std::uint64_t now_ms) {
  all_.add(seconds);
  const std::uint64_t number = now_ms / kPart;
  Part& part = parts_.at(number % kParts);
  if (part.number != number) part = {number, 0};
  part.largest = std::max(part.largest, seconds);
}

double Lateness::largest(std::uint64_t now_ms) const {
  const std::uint64_t number = now_ms / kPart;
  double most = 0;
  for (const Part& part : parts_)
    if (part.number + kParts > number) most = std::max(most, part.largest);
  return most;
}

}  // namespace divvy::metrics
