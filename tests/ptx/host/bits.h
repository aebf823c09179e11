// Bit-level intrinsics.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

inline int __popc(unsigned v) {
  return std::popcount(v);
}
inline int __popcll(unsigned long long v) {
  return std::popcount(v);
}
inline int __clz(int v) {
  return std::countl_zero(static_cast<unsigned>(v));
}
inline int __clzll(long long v) {
  return std::countl_zero(static_cast<unsigned long long>(v));
}
inline int __ffs(int v) {
  return __builtin_ffs(v);
}
inline int __ffsll(long long v) {
  return __builtin_ffsll(v);
}

inline unsigned __brev(unsigned v) {
  unsigned turned = 0;
  for (int bit = 0; bit < 32; ++bit) turned |= (v >> bit & 1U) << (31 - bit);
  return turned;
}
inline unsigned long long __brevll(unsigned long long v) {
  const auto low = static_cast<unsigned>(v);
  return static_cast<unsigned long long>(__brev(low)) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}

// Four bytes chosen by the nibbles of `chosen` from the eight of b:a.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned chosen) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  unsigned result = 0;
  for (int at = 0; at < 4; ++at) {
    const unsigned which = chosen >> 4 * at & 7U;
    result |= static_cast<unsigned>(bytes >> 8 * which & 0xffU) << 8 * at;
  }
  return result;
}

// 64 bits high:low shifted; the amount modulo 32, or (the "c" forms) at most 32.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (by & 31U) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (by & 31U));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? low : __funnelshift_l(low, high, by);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? high : __funnelshift_r(low, high, by);
}

inline float __uint_as_float(unsigned v) {
  return std::bit_cast<float>(v);
}
inline unsigned __float_as_uint(float v) {
  return std::bit_cast<unsigned>(v);
}
inline float __int_as_float(int v) {
  return std::bit_cast<float>(v);
}
inline int __float_as_int(float v) {
  return std::bit_cast<int>(v);
}
inline double __longlong_as_double(long long v) {
  return std::bit_cast<double>(v);
}
inline long long __double_as_longlong(double v) {
  return std::bit_cast<long long>(v);
}
inline int __double2hiint(double v) {
  return static_cast<int>(__double_as_longlong(v) >> 32);
}
inline int __double2loint(double v) {
  return static_cast<int>(__double_as_longlong(v));
}
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 |
                               static_cast<unsigned>(low));
}

// A load that promises nobody writes there.
template <typename T>
T __ldg(const T* address) {
  return *address;
}
