// Rules of PTX for float and double that differ from the host's.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "program/types.h"

namespace divvy::ptx {

inline constexpr std::uint32_t kNanBits = 0x7fffffff;

// f32 results have but one NaN; f64 ones keep the operand's, as hosts do.
inline float canonical(float value) {
  return value == value ? value : std::bit_cast<float>(kNanBits);
}
inline double canonical(double value) {
  return value;
}

template <typename T>
T flushed(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}

template <typename T>
T saturated(T value) {
  if (!(value > 0)) return 0;  // NaN too
  return value > 1 ? T{1} : value;
}

inline int hostRounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// f(a, b, c) under a rounding. Volatile, so that nothing is computed on the wrong side of the
// calls that change it.
template <typename Result, typename T, typename F>
Result underRounding(Rounding rounding, F f, T a, T b = 0, T c = 0) {
  if (rounding == Rounding::kNearest) return f(a, b, c);
  volatile T va = a;
  volatile T vb = b;
  volatile T vc = c;
  std::fesetround(hostRounding(rounding));
  volatile Result result = f(T{va}, T{vb}, T{vc});
  std::fesetround(FE_TONEAREST);
  return result;
}

// min and max: a NaN loses against a number unless `nan` (.NaN) says otherwise; -0 is below +0.
template <typename T>
T smaller(T a, T b, bool nan) {
  if (a != a || b != b) {
    if (nan || (a != a && b != b)) return canonical(std::numeric_limits<T>::quiet_NaN());
    return a != a ? b : a;
  }
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
T larger(T a, T b, bool nan) {
  if (a != a || b != b) {
    if (nan || (a != a && b != b)) return canonical(std::numeric_limits<T>::quiet_NaN());
    return a != a ? b : a;
  }
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

}  // namespace divvy::ptx
