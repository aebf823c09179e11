#include "arrivals.h"

#include <cmath>

namespace divvy::bench {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the standard library's distributions differ by vendor.
std::uint64_t next(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

std::vector<std::uint64_t> poissonArrivals(std::uint64_t seed, double per_second,
                                           std::size_t count) {
  std::vector<std::uint64_t> arrivals;
  arrivals.reserve(count);
  double at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double uniform = static_cast<double>((next(seed) >> 11) + 1) / 9007199254740993.0;
    at += -std::log(uniform) / per_second * 1e9;
    arrivals.push_back(static_cast<std::uint64_t>(at));
  }
  return arrivals;
}

}  // namespace divvy::bench
