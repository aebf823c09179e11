// Floating-point formats smaller than float, in terms of double (which holds all their values).
#pragma once

#include <cstdint>

#include "program/types.h"

namespace divvy::ptx {

struct SmallFormat {
  int mantissa;     // bits, without the hidden one
  int exponent;     // bits
  bool infinities;  // e4m3 has none, and one NaN
};

inline constexpr SmallFormat kHalf{10, 5, true};
inline constexpr SmallFormat kBrain{7, 8, true};
inline constexpr SmallFormat kTensor{10, 8, true};  // tf32: its bits at the top of 32
inline constexpr SmallFormat kE4m3{3, 4, false};
inline constexpr SmallFormat kE5m2{2, 5, true};

// What becomes of values too large. kFinite: the largest finite one, also for infinities.
enum class Overflow : std::uint8_t { kInfinity, kFinite };

// Bits of the value rounded once; a NaN is all ones below the sign, which is clear.
std::uint32_t packSmall(const SmallFormat& format, double value, Rounding rounding,
                        Overflow overflow);
double unpackSmall(const SmallFormat& format, std::uint32_t bits);

// a * b + c rounded to odd: rounded once more to a format of up to 24 bits it is what a single
// rounding of the exact result is.
double fusedToOdd(double a, double b, double c);

}  // namespace divvy::ptx
