// Arithmetic intrinsics whose direction of rounding is in their name.
#pragma once

#include "rounded.h"

namespace divvy::ptxhost::intrinsics {

inline float __fadd_rn(float a, float b) {
  return host::sumIn(host::kRn, a, b);
}
inline double __dadd_rn(double a, double b) {
  return host::sumIn(host::kRn, a, b);
}
inline float __fmul_rn(float a, float b) {
  return host::productIn(host::kRn, a, b);
}
inline double __dmul_rn(double a, double b) {
  return host::productIn(host::kRn, a, b);
}
inline float __fdiv_rn(float a, float b) {
  return host::quotientIn(host::kRn, a, b);
}
inline double __ddiv_rn(double a, double b) {
  return host::quotientIn(host::kRn, a, b);
}
inline float __fsqrt_rn(float v) {
  return host::rootIn(host::kRn, v);
}
inline double __dsqrt_rn(double v) {
  return host::rootIn(host::kRn, v);
}
inline float __fmaf_rn(float a, float b, float c) {
  return host::fusedIn(host::kRn, a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
  return host::fusedIn(host::kRn, a, b, c);
}
inline float __fadd_rz(float a, float b) {
  return host::sumIn(host::kRz, a, b);
}
inline double __dadd_rz(double a, double b) {
  return host::sumIn(host::kRz, a, b);
}
inline float __fmul_rz(float a, float b) {
  return host::productIn(host::kRz, a, b);
}
inline double __dmul_rz(double a, double b) {
  return host::productIn(host::kRz, a, b);
}
inline float __fdiv_rz(float a, float b) {
  return host::quotientIn(host::kRz, a, b);
}
inline double __ddiv_rz(double a, double b) {
  return host::quotientIn(host::kRz, a, b);
}
inline float __fsqrt_rz(float v) {
  return host::rootIn(host::kRz, v);
}
inline double __dsqrt_rz(double v) {
  return host::rootIn(host::kRz, v);
}
inline float __fmaf_rz(float a, float b, float c) {
  return host::fusedIn(host::kRz, a, b, c);
}
inline double __fma_rz(double a, double b, double c) {
  return host::fusedIn(host::kRz, a, b, c);
}
inline float __fadd_rd(float a, float b) {
  return host::sumIn(host::kRd, a, b);
}
inline double __dadd_rd(double a, double b) {
  return host::sumIn(host::kRd, a, b);
}
inline float __fmul_rd(float a, float b) {
  return host::productIn(host::kRd, a, b);
}
inline double __dmul_rd(double a, double b) {
  return host::productIn(host::kRd, a, b);
}
inline float __fdiv_rd(float a, float b) {
  return host::quotientIn(host::kRd, a, b);
}
inline double __ddiv_rd(double a, double b) {
  return host::quotientIn(host::kRd, a, b);
}
inline float __fsqrt_rd(float v) {
  return host::rootIn(host::kRd, v);
}
inline double __dsqrt_rd(double v) {
  return host::rootIn(host::kRd, v);
}
inline float __fmaf_rd(float a, float b, float c) {
  return host::fusedIn(host::kRd, a, b, c);
}
inline double __fma_rd(double a, double b, double c) {
  return host::fusedIn(host::kRd, a, b, c);
}
inline float __fadd_ru(float a, float b) {
  return host::sumIn(host::kRu, a, b);
}
inline double __dadd_ru(double a, double b) {
  return host::sumIn(host::kRu, a, b);
}
inline float __fmul_ru(float a, float b) {
  return host::productIn(host::kRu, a, b);
}
inline double __dmul_ru(double a, double b) {
  return host::productIn(host::kRu, a, b);
}
inline float __fdiv_ru(float a, float b) {
  return host::quotientIn(host::kRu, a, b);
}
inline double __ddiv_ru(double a, double b) {
  return host::quotientIn(host::kRu, a, b);
}
inline float __fsqrt_ru(float v) {
  return host::rootIn(host::kRu, v);
}
inline double __dsqrt_ru(double v) {
  return host::rootIn(host::kRu, v);
}
inline float __fmaf_ru(float a, float b, float c) {
  return host::fusedIn(host::kRu, a, b, c);
}
inline double __fma_ru(double a, double b, double c) {
  return host::fusedIn(host::kRu, a, b, c);
}
inline float __frcp_rn(float v) {
  return 1.0f / v;
}

}  // namespace divvy::ptxhost::intrinsics

using namespace divvy::ptxhost::intrinsics;
