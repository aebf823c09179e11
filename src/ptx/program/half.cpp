#include "program/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace divvy::ptx {
namespace {

// The integer nearest to a non-negative scaled value, by the rounding for a result of that sign.
double roundScaled(double scaled, bool negative, Rounding rounding) {
  const double low = std::floor(scaled);
  const double rest = scaled - low;
  bool up = false;
  switch (rounding) {
    case Rounding::kNearest:
      up = rest > 0.5 || (rest == 0.5 && std::fmod(low, 2) != 0);
      break;
    case Rounding::kAway:
      up = rest >= 0.5;
      break;
    case Rounding::kZero:
      break;
    case Rounding::kDown:
      up = negative && rest > 0;
      break;
    case Rounding::kUp:
      up = !negative && rest > 0;
      break;
  }
  return up ? low + 1 : low;
}

struct Limits {
  int bias;
  std::uint32_t infinity;  // or what would be it
  std::uint32_t largest;
  std::uint32_t nan;
};

Limits limitsOf(const SmallFormat& f) {
  const auto field = (1U << f.exponent) - 1;
  const std::uint32_t top = field << f.mantissa;
  const std::uint32_t all = (1U << (f.exponent + f.mantissa)) - 1;
  return {(1 << (f.exponent - 1)) - 1, f.infinities ? top : all, f.infinities ? top - 1 : all - 1,
          all};
}

constexpr int kDoubleMantissa = 52;
constexpr std::uint64_t kDoubleBias = 1023;

// Rounding to nearest where the result is a normal number, by its bits alone. False: it is not.
bool packNormal(const SmallFormat& f, const Limits& limits, double value, std::uint32_t* out) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t size = bits & ~(1ULL << 63);
  const auto bias = static_cast<std::uint64_t>(limits.bias);
  if (size >> kDoubleMantissa < kDoubleBias + 1 - bias) return false;
  const int shift = kDoubleMantissa - f.mantissa;
  const std::uint64_t rounded = size + (1ULL << (shift - 1)) - 1 + (size >> shift & 1);
  const std::uint64_t packed = (rounded >> shift) - ((kDoubleBias - bias) << f.mantissa);
  if (packed > limits.largest) return false;
  *out = static_cast<std::uint32_t>(bits >> 63 << (f.exponent + f.mantissa) | packed);
  return true;
}

}  // namespace

std::uint32_t packSmall(const SmallFormat& f, double value, Rounding rounding, Overflow overflow) {
  const Limits limits = limitsOf(f);
  std::uint32_t normal = 0;
  if (rounding == Rounding::kNearest && packNormal(f, limits, value, &normal)) return normal;
  if (std::isnan(value)) return limits.nan;
  const bool negative = std::signbit(value);
  const std::uint32_t sign = negative ? 1U << (f.exponent + f.mantissa) : 0;
  const double size = std::fabs(value);
  const bool finite = overflow == Overflow::kFinite;
  if (std::isinf(size)) return sign | (finite ? limits.largest : limits.infinity);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), 1 - limits.bias);
  const double scaled = std::ldexp(size, f.mantissa - exponent);
  const double rounded = roundScaled(scaled, negative, rounding);
  // Adding the fraction with its hidden bit carries into the exponent where it has to.
  const auto field = static_cast<std::uint64_t>(exponent + limits.bias - 1) << f.mantissa;
  const std::uint64_t bits = field + static_cast<std::uint64_t>(rounded);
  if (bits <= limits.largest) return sign | static_cast<std::uint32_t>(bits);
  const bool toward_zero = rounding == Rounding::kZero ||
                           (rounding == Rounding::kDown && !negative) ||
                           (rounding == Rounding::kUp && negative);
  return sign | (finite || toward_zero ? limits.largest : limits.infinity);
}

double unpackSmall(const SmallFormat& f, std::uint32_t bits) {
  const Limits limits = limitsOf(f);
  const std::uint32_t size = bits & limits.nan;
  const bool negative = (bits >> (f.exponent + f.mantissa) & 1) != 0;
  double value = 0;
  const std::uint64_t upper = size >> f.mantissa;
  if (upper != 0 && size <= limits.largest) {
    const std::uint64_t wide =
        size + ((kDoubleBias - static_cast<std::uint64_t>(limits.bias)) << f.mantissa);
    value = std::bit_cast<double>(wide << (kDoubleMantissa - f.mantissa));
  } else if (size == limits.infinity && f.infinities) {
    value = HUGE_VAL;
  } else if (size > limits.largest) {
    value = std::nan("");
  } else {
    value = std::ldexp(static_cast<double>(size), 1 - limits.bias - f.mantissa);
  }
  return negative ? -value : value;
}

double fusedToOdd(double a, double b, double c) {
  const double product = a * b;  // exact: the factors have 24 bits at most
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  // Knuth's error of the sum.
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

}  // namespace divvy::ptx
