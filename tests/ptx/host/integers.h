// Integer intrinsics: high halves, averages, distances, dot products of bytes.
#pragma once

#include <cstdint>

__extension__ typedef __int128 ptxhost_wide;
__extension__ typedef unsigned __int128 ptxhost_uwide;

inline int __mulhi(int a, int b) {
  return static_cast<int>(std::int64_t{a} * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<ptxhost_wide>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<ptxhost_uwide>(a) * b >> 64);
}

// The low 32 bits of the product of the low 24 bits.
inline int __mul24(int a, int b) {
  const std::int64_t x = static_cast<int>(static_cast<unsigned>(a) << 8) >> 8;
  const std::int64_t y = static_cast<int>(static_cast<unsigned>(b) << 8) >> 8;
  return static_cast<int>(x * y);
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a & 0xffffffU} * (b & 0xffffffU));
}

// Averages without overflow; the r forms round up.
inline int __hadd(int a, int b) {
  return static_cast<int>((std::int64_t{a} + b) >> 1);
}
inline int __rhadd(int a, int b) {
  return static_cast<int>((std::int64_t{a} + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((std::uint64_t{a} + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((std::uint64_t{a} + b + 1) >> 1);
}

inline unsigned __usad(unsigned a, unsigned b, unsigned sum) {
  return sum + (a > b ? a - b : b - a);
}
inline unsigned __sad(int a, int b, unsigned sum) {
  const auto x = static_cast<unsigned>(a);
  const auto y = static_cast<unsigned>(b);
  return sum + (a > b ? x - y : y - x);
}

inline int __dp4a(int a, int b, int sum) {
  for (int at = 0; at < 4; ++at) {
    sum += static_cast<std::int8_t>(a >> 8 * at) * static_cast<std::int8_t>(b >> 8 * at);
  }
  return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int at = 0; at < 4; ++at) sum += (a >> 8 * at & 0xffU) * (b >> 8 * at & 0xffU);
  return sum;
}
