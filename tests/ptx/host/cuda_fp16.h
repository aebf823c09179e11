// The header of this name that kernels include, on the host: half precision.
#pragma once

#include "small_float.h"
#include "vectors.h"

using __half = divvy::ptxhost::SmallFloat<divvy::ptxhost::HalfFormat>;
using __half2 = divvy::ptxhost::SmallPair<divvy::ptxhost::HalfFormat>;

inline float __half2float(__half v) {
  return static_cast<float>(v.wide());
}
inline __half __float2half(float v) {
  return __half::from(v);
}
inline __half __float2half_rn(float v) {
  return __half::from(v);
}
inline __half __float2half_rz(float v) {
  return __half::from(v, divvy::ptxhost::kRz);
}
inline __half __float2half_rd(float v) {
  return __half::from(v, divvy::ptxhost::kRd);
}
inline __half __float2half_ru(float v) {
  return __half::from(v, divvy::ptxhost::kRu);
}
inline __half __double2half(double v) {
  return __half::from(v);
}
inline unsigned short __half_as_ushort(__half v) {
  return v.bits;
}
inline __half __ushort_as_half(unsigned short bits) {
  return {bits};
}

namespace divvy::ptxhost {
template <typename Integer>
Integer halfTo(__half v, Direction direction) {
  return toInteger<Integer, __half>(v.wide(), direction);
}
}  // namespace divvy::ptxhost

inline int __half2int_rn(__half v) {
  return host::halfTo<int>(v, host::kRn);
}
inline int __half2int_rz(__half v) {
  return host::halfTo<int>(v, host::kRz);
}
inline int __half2int_rd(__half v) {
  return host::halfTo<int>(v, host::kRd);
}
inline int __half2int_ru(__half v) {
  return host::halfTo<int>(v, host::kRu);
}
inline unsigned __half2uint_rn(__half v) {
  return host::halfTo<unsigned>(v, host::kRn);
}
inline short __half2short_rz(__half v) {
  return host::halfTo<short>(v, host::kRz);
}
inline unsigned short __half2ushort_ru(__half v) {
  return host::halfTo<unsigned short>(v, host::kRu);
}
inline long long __half2ll_rn(__half v) {
  return host::halfTo<long long>(v, host::kRn);
}
inline unsigned long long __half2ull_rd(__half v) {
  return host::halfTo<unsigned long long>(v, host::kRd);
}

inline __half __int2half_rn(int v) {
  return __half::from(v);
}
inline __half __int2half_rz(int v) {
  return __half::from(v, host::kRz);
}
inline __half __uint2half_rd(unsigned v) {
  return __half::from(v, host::kRd);
}
inline __half __short2half_ru(short v) {
  return __half::from(v, host::kRu);
}
inline __half __ushort2half_rn(unsigned short v) {
  return __half::from(v);
}
inline __half __ll2half_rn(long long v) {
  return __half::from(host::oddDouble(v));
}
inline __half __ull2half_rz(unsigned long long v) {
  return __half::from(host::oddDouble(v), host::kRz);
}

inline __half __hadd_sat(__half a, __half b) {
  return host::saturated(a + b);
}
inline __half __hfma_sat(__half a, __half b, __half c) {
  return host::saturated(host::fused(a, b, c));
}
inline int __hisinf(__half v) {
  if ((v.bits & 0x7fff) != host::HalfFormat::kInfinity) return 0;
  return (v.bits & 0x8000) != 0 ? -1 : 1;
}
inline __half hfloor(__half v) {
  return __half::from(std::floor(v.wide()));
}
inline __half hceil(__half v) {
  return __half::from(std::ceil(v.wide()));
}
inline __half htrunc(__half v) {
  return __half::from(std::trunc(v.wide()));
}
inline __half hrint(__half v) {
  return __half::from(std::nearbyint(v.wide()));
}

inline __half2 __halves2half2(__half low, __half high) {
  return {low, high};
}
inline __half __low2half(__half2 v) {
  return v.x;
}
inline __half __high2half(__half2 v) {
  return v.y;
}
inline __half2 __lowhigh2highlow(__half2 v) {
  return {v.y, v.x};
}
inline __half2 __float2half2_rn(float v) {
  return {__float2half(v), __float2half(v)};
}
inline __half2 __float22half2_rn(float2 v) {
  return {__float2half(v.x), __float2half(v.y)};
}
inline float2 __half22float2(__half2 v) {
  return {__half2float(v.x), __half2float(v.y)};
}
inline __half2 __heq2(__half2 a, __half2 b) {
  return {__half::from(__heq(a.x, b.x)), __half::from(__heq(a.y, b.y))};
}
inline __half2 __hgt2(__half2 a, __half2 b) {
  return {__half::from(__hgt(a.x, b.x)), __half::from(__hgt(a.y, b.y))};
}
inline bool __hblt2(__half2 a, __half2 b) {
  return __hlt(a.x, b.x) && __hlt(a.y, b.y);
}
