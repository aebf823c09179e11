// Conversions between integers and floating point, in the four directions of rounding.
//
// To an integer (PTX ISA, cvt): round, then saturate. NaN gives 0, except from 64-bit floats and
// to 64-bit integers, where it gives the bit pattern 100...0.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "rounded.h"

namespace divvy::ptxhost {

// Source is what the value was before it was widened to `value` (exactly).
template <typename Integer, typename Source>
Integer toInteger(double value, Direction direction) {
  if (std::isnan(value)) {
    constexpr bool wide = sizeof(Source) == 8 || sizeof(Integer) == 8;
    constexpr auto top =
        static_cast<Integer>(std::make_unsigned_t<Integer>{1} << (8 * sizeof(Integer) - 1));
    return wide ? top : Integer{0};
  }
  const double whole = wholeIn(direction, value);
  constexpr int digits = std::numeric_limits<Integer>::digits;
  if (whole >= std::ldexp(1.0, digits)) return std::numeric_limits<Integer>::max();
  if (whole < static_cast<double>(std::numeric_limits<Integer>::min())) {
    return std::numeric_limits<Integer>::min();
  }
  return static_cast<Integer>(whole);
}

}  // namespace divvy::ptxhost

namespace divvy::ptxhost::intrinsics {

inline int __float2int_rn(float v) {
  return host::toInteger<int, float>(v, host::kRn);
}
inline int __float2int_rz(float v) {
  return host::toInteger<int, float>(v, host::kRz);
}
inline int __float2int_rd(float v) {
  return host::toInteger<int, float>(v, host::kRd);
}
inline int __float2int_ru(float v) {
  return host::toInteger<int, float>(v, host::kRu);
}
inline unsigned __float2uint_rn(float v) {
  return host::toInteger<unsigned, float>(v, host::kRn);
}
inline unsigned __float2uint_rz(float v) {
  return host::toInteger<unsigned, float>(v, host::kRz);
}
inline unsigned __float2uint_rd(float v) {
  return host::toInteger<unsigned, float>(v, host::kRd);
}
inline unsigned __float2uint_ru(float v) {
  return host::toInteger<unsigned, float>(v, host::kRu);
}
inline long long __float2ll_rn(float v) {
  return host::toInteger<long long, float>(v, host::kRn);
}
inline long long __float2ll_rz(float v) {
  return host::toInteger<long long, float>(v, host::kRz);
}
inline long long __float2ll_rd(float v) {
  return host::toInteger<long long, float>(v, host::kRd);
}
inline long long __float2ll_ru(float v) {
  return host::toInteger<long long, float>(v, host::kRu);
}
inline unsigned long long __float2ull_rn(float v) {
  return host::toInteger<unsigned long long, float>(v, host::kRn);
}
inline unsigned long long __float2ull_rz(float v) {
  return host::toInteger<unsigned long long, float>(v, host::kRz);
}
inline unsigned long long __float2ull_rd(float v) {
  return host::toInteger<unsigned long long, float>(v, host::kRd);
}
inline unsigned long long __float2ull_ru(float v) {
  return host::toInteger<unsigned long long, float>(v, host::kRu);
}
inline int __double2int_rn(double v) {
  return host::toInteger<int, double>(v, host::kRn);
}
inline int __double2int_rz(double v) {
  return host::toInteger<int, double>(v, host::kRz);
}
inline int __double2int_rd(double v) {
  return host::toInteger<int, double>(v, host::kRd);
}
inline int __double2int_ru(double v) {
  return host::toInteger<int, double>(v, host::kRu);
}
inline unsigned __double2uint_rn(double v) {
  return host::toInteger<unsigned, double>(v, host::kRn);
}
inline unsigned __double2uint_rz(double v) {
  return host::toInteger<unsigned, double>(v, host::kRz);
}
inline unsigned __double2uint_rd(double v) {
  return host::toInteger<unsigned, double>(v, host::kRd);
}
inline unsigned __double2uint_ru(double v) {
  return host::toInteger<unsigned, double>(v, host::kRu);
}
inline long long __double2ll_rn(double v) {
  return host::toInteger<long long, double>(v, host::kRn);
}
inline long long __double2ll_rz(double v) {
  return host::toInteger<long long, double>(v, host::kRz);
}
inline long long __double2ll_rd(double v) {
  return host::toInteger<long long, double>(v, host::kRd);
}
inline long long __double2ll_ru(double v) {
  return host::toInteger<long long, double>(v, host::kRu);
}
inline unsigned long long __double2ull_rn(double v) {
  return host::toInteger<unsigned long long, double>(v, host::kRn);
}
inline unsigned long long __double2ull_rz(double v) {
  return host::toInteger<unsigned long long, double>(v, host::kRz);
}
inline unsigned long long __double2ull_rd(double v) {
  return host::toInteger<unsigned long long, double>(v, host::kRd);
}
inline unsigned long long __double2ull_ru(double v) {
  return host::toInteger<unsigned long long, double>(v, host::kRu);
}
inline float __int2float_rn(int v) {
  return host::floatIn(host::kRn, v);
}
inline float __int2float_rz(int v) {
  return host::floatIn(host::kRz, v);
}
inline float __int2float_rd(int v) {
  return host::floatIn(host::kRd, v);
}
inline float __int2float_ru(int v) {
  return host::floatIn(host::kRu, v);
}
inline float __uint2float_rn(unsigned v) {
  return host::floatIn(host::kRn, v);
}
inline float __uint2float_rz(unsigned v) {
  return host::floatIn(host::kRz, v);
}
inline float __uint2float_rd(unsigned v) {
  return host::floatIn(host::kRd, v);
}
inline float __uint2float_ru(unsigned v) {
  return host::floatIn(host::kRu, v);
}
inline float __ll2float_rn(long long v) {
  return host::floatIn(host::kRn, v);
}
inline float __ll2float_rz(long long v) {
  return host::floatIn(host::kRz, v);
}
inline float __ll2float_rd(long long v) {
  return host::floatIn(host::kRd, v);
}
inline float __ll2float_ru(long long v) {
  return host::floatIn(host::kRu, v);
}
inline float __ull2float_rn(unsigned long long v) {
  return host::floatIn(host::kRn, v);
}
inline float __ull2float_rz(unsigned long long v) {
  return host::floatIn(host::kRz, v);
}
inline float __ull2float_rd(unsigned long long v) {
  return host::floatIn(host::kRd, v);
}
inline float __ull2float_ru(unsigned long long v) {
  return host::floatIn(host::kRu, v);
}
inline double __int2double_rn(int v) {
  return v;
}
inline double __uint2double_rn(unsigned v) {
  return v;
}
inline double __ll2double_rn(long long v) {
  return host::doubleIn(host::kRn, v);
}
inline double __ll2double_rz(long long v) {
  return host::doubleIn(host::kRz, v);
}
inline double __ll2double_rd(long long v) {
  return host::doubleIn(host::kRd, v);
}
inline double __ll2double_ru(long long v) {
  return host::doubleIn(host::kRu, v);
}
inline double __ull2double_rn(unsigned long long v) {
  return host::doubleIn(host::kRn, v);
}
inline double __ull2double_rz(unsigned long long v) {
  return host::doubleIn(host::kRz, v);
}
inline double __ull2double_rd(unsigned long long v) {
  return host::doubleIn(host::kRd, v);
}
inline double __ull2double_ru(unsigned long long v) {
  return host::doubleIn(host::kRu, v);
}
inline float __double2float_rn(double v) {
  return host::floatIn(host::kRn, v);
}
inline float __double2float_rz(double v) {
  return host::floatIn(host::kRz, v);
}
inline float __double2float_rd(double v) {
  return host::floatIn(host::kRd, v);
}
inline float __double2float_ru(double v) {
  return host::floatIn(host::kRu, v);
}

}  // namespace divvy::ptxhost::intrinsics

using namespace divvy::ptxhost::intrinsics;
