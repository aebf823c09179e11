#include "inputs.h"

#include <bit>
#include <limits>

namespace divvy::ptxtest {

Inputs::Inputs(std::string_view seed) : state_(0xcbf29ce484222325) {
  for (const char c : seed) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
}

// SplitMix64.
std::uint64_t Inputs::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::vector<int> Inputs::ints(std::size_t count, int low, int high) {
  std::vector<int> result(count);
  const auto span = static_cast<std::uint64_t>(std::int64_t{high} - low + 1);
  for (int& v : result) v = static_cast<int>(low + static_cast<std::int64_t>(next() % span));
  return result;
}

std::vector<unsigned long long> Inputs::wide(std::size_t count) {
  constexpr unsigned long long kSpecial[] = {0,
                                             1,
                                             ~0ULL,
                                             1ULL << 63,
                                             (1ULL << 63) - 1,
                                             (1ULL << 63) + 1,
                                             1ULL << 32,
                                             (1ULL << 32) - 1,
                                             (1ULL << 53) + 1,
                                             0xfffffffffffffbff,
                                             0xfffffffffffffc00,
                                             0x8000000000000400,
                                             0x8000008000000000};
  std::vector<unsigned long long> result;
  for (const auto v : kSpecial) result.push_back(v);
  // All sizes: as often one significant bit as sixty-four.
  while (result.size() < count) result.push_back(next() >> next() % 64);
  result.resize(count);
  return result;
}

std::vector<unsigned> Inputs::words(std::size_t count) {
  std::vector<unsigned> result = {0,          1,          0xffffffff, 0x80000000, 0x7fffffff,
                                  0x80000001, 0x01000001, 0x00ffffff, 0xffffff80, 0x01000003};
  while (result.size() < count) result.push_back(static_cast<unsigned>(next()) >> next() % 32);
  result.resize(count);
  return result;
}

std::vector<int> Inputs::anyInts(std::size_t count) {
  const auto bits = words(count);
  return {bits.begin(), bits.end()};
}
std::vector<long long> Inputs::anyWide(std::size_t count) {
  const auto bits = wide(count);
  return {bits.begin(), bits.end()};
}
std::vector<unsigned char> Inputs::bytes(std::size_t count) {
  return wholes<unsigned char>(count, 0, 255);
}
std::vector<char> Inputs::text(std::size_t count) {
  constexpr std::string_view kLetters = "abcxyzABCXYZ0189  ,.";
  std::vector<char> result(count);
  for (char& c : result) c = kLetters[next() % kLetters.size()];
  return result;
}

std::vector<double> Inputs::doubles(std::size_t count, double low, double high) {
  std::vector<double> result(count);
  for (double& v : result) {
    v = low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }
  return result;
}
std::vector<float> Inputs::floats(std::size_t count, float low, float high) {
  std::vector<float> result;
  for (const double v : doubles(count, low, high)) result.push_back(static_cast<float>(v));
  return result;
}

std::vector<double> Inputs::anyDoubles(std::size_t count) {
  using Limits = std::numeric_limits<double>;
  const double special[] = {0.0,
                            0.5,
                            1.5,
                            2.5,
                            255.5,
                            32767.5,
                            65504.0,
                            65520.0,
                            0x1p31,
                            0x1p32,
                            0x1p63,
                            0x1p64,
                            0x1p-24,
                            0x1p-25,
                            0x1.8p-25,
                            0x1p-133,
                            0x1.fffffep127,
                            0x1.ffffffp127,
                            0x1p128,
                            0x1p-149,
                            0x1p-150,
                            0x1.8p-150,
                            2147483646.5,
                            4294967294.5,
                            0x1.fffffffffffffp62,
                            Limits::min(),
                            Limits::denorm_min(),
                            Limits::max(),
                            Limits::infinity()};
  std::vector<double> result = {Limits::quiet_NaN()};
  for (const double v : special) {
    result.push_back(v);
    result.push_back(-v);
  }
  while (result.size() < count) {
    // Half of them of every size there is, half where integers are.
    const double any = std::bit_cast<double>(next());
    const auto shift = static_cast<int>(next() % 76);
    const double near = std::ldexp(static_cast<double>(next() >> 11), shift - 63);
    result.push_back(next() % 2 == 0 ? any : (next() % 2 == 0 ? near : -near));
  }
  result.resize(count);
  return result;
}
std::vector<float> Inputs::anyFloats(std::size_t count) {
  std::vector<float> result;
  for (const double v : anyDoubles(count)) result.push_back(static_cast<float>(v));
  for (std::size_t at = 80; at < count; at += 2) {
    result[at] = std::bit_cast<float>(static_cast<unsigned>(next()));
  }
  return result;
}

}  // namespace divvy::ptxtest
