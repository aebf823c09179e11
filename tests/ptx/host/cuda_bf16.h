// The header of this name that kernels include, on the host: bfloat16.
#pragma once

#include "small_float.h"
#include "vectors.h"

using __nv_bfloat16 = divvy::ptxhost::SmallFloat<divvy::ptxhost::BfloatFormat>;
using __nv_bfloat162 = divvy::ptxhost::SmallPair<divvy::ptxhost::BfloatFormat>;

inline float __bfloat162float(__nv_bfloat16 v) {
  return static_cast<float>(v.wide());
}
inline __nv_bfloat16 __float2bfloat16(float v) {
  return __nv_bfloat16::from(v);
}
inline __nv_bfloat16 __float2bfloat16_rn(float v) {
  return __nv_bfloat16::from(v);
}
inline __nv_bfloat16 __float2bfloat16_rz(float v) {
  return __nv_bfloat16::from(v, host::kRz);
}
inline __nv_bfloat16 __float2bfloat16_rd(float v) {
  return __nv_bfloat16::from(v, host::kRd);
}
inline __nv_bfloat16 __float2bfloat16_ru(float v) {
  return __nv_bfloat16::from(v, host::kRu);
}
inline __nv_bfloat16 __double2bfloat16(double v) {
  return __nv_bfloat16::from(v);
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return {bits};
}

namespace divvy::ptxhost {
template <typename Integer>
Integer bfloatTo(__nv_bfloat16 v, Direction direction) {
  return toInteger<Integer, __nv_bfloat16>(v.wide(), direction);
}
}  // namespace divvy::ptxhost

inline int __bfloat162int_rn(__nv_bfloat16 v) {
  return host::bfloatTo<int>(v, host::kRn);
}
inline int __bfloat162int_rz(__nv_bfloat16 v) {
  return host::bfloatTo<int>(v, host::kRz);
}
inline unsigned __bfloat162uint_rd(__nv_bfloat16 v) {
  return host::bfloatTo<unsigned>(v, host::kRd);
}
inline short __bfloat162short_rn(__nv_bfloat16 v) {
  return host::bfloatTo<short>(v, host::kRn);
}
inline long long __bfloat162ll_rz(__nv_bfloat16 v) {
  return host::bfloatTo<long long>(v, host::kRz);
}
inline __nv_bfloat16 __int2bfloat16_rn(int v) {
  return __nv_bfloat16::from(v);
}
inline __nv_bfloat16 __uint2bfloat16_rn(unsigned v) {
  return __nv_bfloat16::from(v);
}
inline __nv_bfloat16 __short2bfloat16_rn(short v) {
  return __nv_bfloat16::from(v);
}

inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) {
  return v.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) {
  return v.y;
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {__float2bfloat16(low), __float2bfloat16(high)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 v) {
  return {__bfloat162float(v.x), __bfloat162float(v.y)};
}
