// Values to compute with, from a seeded generator: the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace divvy::ptxtest {

class Inputs {
 public:
  explicit Inputs(std::string_view seed);

  // Whole numbers, low <= v <= high.
  std::vector<int> ints(std::size_t count, int low, int high);
  template <typename T>
  std::vector<T> wholes(std::size_t count, int low, int high) {
    std::vector<T> result;
    for (const int v : ints(count, low, high)) result.push_back(static_cast<T>(v));
    return result;
  }
  // Any bits; the first few are 0, 1, the extremes and their neighbours.
  std::vector<unsigned> words(std::size_t count);
  std::vector<unsigned long long> wide(std::size_t count);
  std::vector<int> anyInts(std::size_t count);
  std::vector<long long> anyWide(std::size_t count);
  std::vector<unsigned char> bytes(std::size_t count);
  // Letters, digits, blanks.
  std::vector<char> text(std::size_t count);

  // low <= v < high, many fraction bits.
  std::vector<float> floats(std::size_t count, float low, float high);
  std::vector<double> doubles(std::size_t count, double low, double high);
  // Every kind: zeros, denormals, halfway cases, infinities, NaN, and any bits.
  std::vector<float> anyFloats(std::size_t count);
  std::vector<double> anyDoubles(std::size_t count);
  // Any bits of 16 (F: a format of small_float.h); without NaN where asked.
  template <typename F>
  std::vector<divvy::ptxhost::SmallFloat<F>> smalls(std::size_t count, bool nan) {
    std::vector<divvy::ptxhost::SmallFloat<F>> result;
    const std::uint16_t special[] = {
        0,      0x8000, 1,      0x8001,           F::kInfinity, F::kInfinity | 0x8000,
        0x03ff, 0x3c00, 0x3f80, F::kInfinity - 1, F::kNan};
    while (result.size() < count) {
      const bool chosen = next() % 8 == 0;
      const auto bits = static_cast<std::uint16_t>(chosen ? special[next() % 11] : next());
      const divvy::ptxhost::SmallFloat<F> value{bits};
      if (nan || !value.isNan()) result.push_back(value);
    }
    return result;
  }
  // Values of moderate size, so that sums and products stay finite.
  template <typename F>
  std::vector<divvy::ptxhost::SmallFloat<F>> moderate(std::size_t count, float low, float high) {
    std::vector<divvy::ptxhost::SmallFloat<F>> result;
    for (const float v : floats(count, low, high)) {
      result.push_back(divvy::ptxhost::SmallFloat<F>::from(v));
    }
    return result;
  }

  std::uint64_t next();

 private:
  std::uint64_t state_;
};

}  // namespace divvy::ptxtest
