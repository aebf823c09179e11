// Floating point of 16 bits on the host: a format, rounding into it, arithmetic rounded once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "convert.h"
#include "rounded.h"

namespace divvy::ptxhost {

// kExponentBits of exponent and kFractionBits of fraction behind a sign.
template <int kExponentBits, int kFractionBits>
struct Format {
  static constexpr int kFraction = kFractionBits;
  static constexpr int kMinExponent = 2 - (1 << (kExponentBits - 1));
  static constexpr std::uint16_t kInfinity = ((1 << kExponentBits) - 1) << kFractionBits;
  static constexpr std::uint16_t kNan = 0x7fff;  // what operations give, whatever they were given
};
using HalfFormat = Format<5, 10>;
using BfloatFormat = Format<8, 7>;

template <typename F>
double widen(std::uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int magnitude = bits & 0x7fff;
  if (magnitude > F::kInfinity) return std::nan("");
  if (magnitude == F::kInfinity) return sign * HUGE_VAL;
  const int exponent = magnitude >> F::kFraction;
  const int fraction = magnitude & ((1 << F::kFraction) - 1);
  if (exponent == 0) return sign * std::ldexp(fraction, F::kMinExponent - F::kFraction);
  return sign *
         std::ldexp(fraction | 1 << F::kFraction, exponent - 1 + F::kMinExponent - F::kFraction);
}

// Whether rounding `rest` (0 <= rest < 1) beyond a whole number in this direction goes up in size.
inline bool roundsUp(Direction direction, bool negative, double rest, bool odd) {
  switch (direction) {
    case Direction::kZero:
      return false;
    case Direction::kDown:
      return negative && rest > 0;
    case Direction::kUp:
      return !negative && rest > 0;
    case Direction::kNearest:
      break;
  }
  return rest > 0.5 || (rest == 0.5 && odd);
}

template <typename F>
std::uint16_t narrow(double value, Direction direction = Direction::kNearest) {
  if (std::isnan(value)) return F::kNan;
  const bool negative = std::signbit(value);
  const std::uint16_t sign = negative ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isinf(size)) return sign | F::kInfinity;
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), F::kMinExponent);
  if (exponent > 1 - F::kMinExponent) {
    return roundsUp(direction, negative, 0.75, false) ? sign | F::kInfinity
                                                      : sign | (F::kInfinity - 1);
  }
  const double scaled = std::ldexp(size, F::kFraction - exponent);
  const double whole = std::floor(scaled);
  const bool up = roundsUp(direction, negative, scaled - whole, std::fmod(whole, 2.0) != 0);
  const int steps = static_cast<int>(whole) + (up ? 1 : 0);
  // A carry runs into the exponent, and from the largest number into infinity.
  return static_cast<std::uint16_t>(sign |
                                    (((exponent - F::kMinExponent) << F::kFraction) + steps));
}

// a + b in double with the last bit odd where it was not exact: rounding that to fewer bits gives
// what rounding the exact sum gives (Boldo and Melquiond, rounding to odd).
inline double oddSum(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  const double lost = (a - (sum - part)) + (b - part);
  if (lost == 0 || (std::bit_cast<std::uint64_t>(sum) & 1) != 0) return sum;
  return std::nextafter(sum, lost > 0 ? HUGE_VAL : -HUGE_VAL);
}

// A 64-bit integer in double, odd where inexact.
template <typename Integer>
double oddDouble(Integer value) {
  const auto high = static_cast<double>(value / 4096 * 4096);  // exact: 52 bits
  return oddSum(high, static_cast<double>(value % 4096));
}

template <typename F>
struct SmallFloat {
  std::uint16_t bits;

  static SmallFloat from(double value, Direction direction = Direction::kNearest) {
    return {narrow<F>(value, direction)};
  }
  double wide() const { return widen<F>(bits); }
  bool isNan() const { return (bits & 0x7fff) > F::kInfinity; }
};

template <typename F>
SmallFloat<F> operator+(SmallFloat<F> a, SmallFloat<F> b) {
  return SmallFloat<F>::from(oddSum(a.wide(), b.wide()));
}
template <typename F>
SmallFloat<F> operator-(SmallFloat<F> a, SmallFloat<F> b) {
  return SmallFloat<F>::from(oddSum(a.wide(), -b.wide()));
}
template <typename F>
SmallFloat<F> operator*(SmallFloat<F> a, SmallFloat<F> b) {
  return SmallFloat<F>::from(a.wide() * b.wide());  // exact in double
}
template <typename F>
SmallFloat<F> operator-(SmallFloat<F> a) {
  return {static_cast<std::uint16_t>(a.bits ^ 0x8000)};
}
template <typename F>
bool operator>(SmallFloat<F> a, SmallFloat<F> b) {
  return a.wide() > b.wide();
}
template <typename F>
SmallFloat<F> fused(SmallFloat<F> a, SmallFloat<F> b, SmallFloat<F> c) {
  return SmallFloat<F>::from(oddSum(a.wide() * b.wide(), c.wide()));
}
// Into [0, 1]; NaN and what is below give +0.
template <typename F>
SmallFloat<F> saturated(SmallFloat<F> a) {
  const double value = a.wide();
  return value > 0 ? SmallFloat<F>::from(std::fmin(value, 1.0)) : SmallFloat<F>{0};
}

template <typename F>
struct alignas(4) SmallPair {
  SmallFloat<F> x, y;
};
template <typename F>
SmallPair<F> operator+(SmallPair<F> a, SmallPair<F> b) {
  return {a.x + b.x, a.y + b.y};
}

}  // namespace divvy::ptxhost

// What the two formats share, under the names that kernels use for both.
namespace divvy::ptxhost::intrinsics {

template <typename F>
SmallFloat<F> __hadd(SmallFloat<F> a, SmallFloat<F> b) {
  return a + b;
}
template <typename F>
SmallFloat<F> __hsub(SmallFloat<F> a, SmallFloat<F> b) {
  return a - b;
}
template <typename F>
SmallFloat<F> __hmul(SmallFloat<F> a, SmallFloat<F> b) {
  return a * b;
}
template <typename F>
SmallFloat<F> __hfma(SmallFloat<F> a, SmallFloat<F> b, SmallFloat<F> c) {
  return fused(a, b, c);
}
template <typename F>
SmallFloat<F> __hneg(SmallFloat<F> a) {
  return -a;
}
template <typename F>
SmallFloat<F> __habs(SmallFloat<F> a) {
  return {static_cast<std::uint16_t>(a.bits & 0x7fff)};
}
// The greater; the number where one is NaN; +0 above -0.
template <typename F>
SmallFloat<F> __hmax(SmallFloat<F> a, SmallFloat<F> b) {
  if (a.isNan() && b.isNan()) return {F::kNan};
  if (a.isNan() || b.isNan()) return a.isNan() ? b : a;
  if (a.wide() == b.wide()) return (a.bits & 0x8000) != 0 ? b : a;
  return a.wide() > b.wide() ? a : b;
}
template <typename F>
SmallFloat<F> __hmin(SmallFloat<F> a, SmallFloat<F> b) {
  if (a.isNan() && b.isNan()) return {F::kNan};
  if (a.isNan() || b.isNan()) return a.isNan() ? b : a;
  if (a.wide() == b.wide()) return (a.bits & 0x8000) != 0 ? a : b;
  return a.wide() < b.wide() ? a : b;
}

template <typename F>
bool __hisnan(SmallFloat<F> a) {
  return a.isNan();
}
template <typename F>
bool __heq(SmallFloat<F> a, SmallFloat<F> b) {
  return a.wide() == b.wide();
}
template <typename F>
bool __hlt(SmallFloat<F> a, SmallFloat<F> b) {
  return a.wide() < b.wide();
}
template <typename F>
bool __hle(SmallFloat<F> a, SmallFloat<F> b) {
  return a.wide() <= b.wide();
}
template <typename F>
bool __hgt(SmallFloat<F> a, SmallFloat<F> b) {
  return a.wide() > b.wide();
}
template <typename F>
bool __hge(SmallFloat<F> a, SmallFloat<F> b) {
  return a.wide() >= b.wide();
}
// Ordered and unequal; the u forms are true where one is NaN.
template <typename F>
bool __hne(SmallFloat<F> a, SmallFloat<F> b) {
  return a.wide() < b.wide() || a.wide() > b.wide();
}
template <typename F>
bool __hequ(SmallFloat<F> a, SmallFloat<F> b) {
  return !(a.wide() < b.wide() || a.wide() > b.wide());
}
template <typename F>
bool __hltu(SmallFloat<F> a, SmallFloat<F> b) {
  return !(a.wide() >= b.wide());
}
template <typename F>
bool __hgtu(SmallFloat<F> a, SmallFloat<F> b) {
  return !(a.wide() <= b.wide());
}
template <typename F>
bool __hgeu(SmallFloat<F> a, SmallFloat<F> b) {
  return !(a.wide() < b.wide());
}

template <typename F>
SmallPair<F> __hadd2(SmallPair<F> a, SmallPair<F> b) {
  return a + b;
}
template <typename F>
SmallPair<F> __hsub2(SmallPair<F> a, SmallPair<F> b) {
  return {a.x - b.x, a.y - b.y};
}
template <typename F>
SmallPair<F> __hmul2(SmallPair<F> a, SmallPair<F> b) {
  return {a.x * b.x, a.y * b.y};
}
template <typename F>
SmallPair<F> __hfma2(SmallPair<F> a, SmallPair<F> b, SmallPair<F> c) {
  return {fused(a.x, b.x, c.x), fused(a.y, b.y, c.y)};
}
template <typename F>
SmallPair<F> __hneg2(SmallPair<F> a) {
  return {-a.x, -a.y};
}
template <typename F>
SmallPair<F> __hmax2(SmallPair<F> a, SmallPair<F> b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}

}  // namespace divvy::ptxhost::intrinsics

using namespace divvy::ptxhost::intrinsics;
