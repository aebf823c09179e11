// The small formats by themselves: every value, and every middle between two.
#include "program/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace divvy::ptx {
namespace {

// All finite values in order, each with what lies between it and the next.
void checkFormat(const SmallFormat& format, std::uint32_t largest) {
  const auto pack = [&](double value, Rounding rounding = Rounding::kNearest) {
    return packSmall(format, value, rounding, Overflow::kInfinity);
  };
  for (std::uint32_t bits = 0; bits < largest; ++bits) {
    const double value = unpackSmall(format, bits);
    const double next = unpackSmall(format, bits + 1);
    ASSERT_LT(value, next) << bits;
    ASSERT_EQ(pack(value), bits);
    const double middle = (value + next) / 2;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(pack(middle), even) << bits;
    ASSERT_EQ(pack(std::nextafter(middle, 0)), bits);
    ASSERT_EQ(pack(std::nextafter(middle, HUGE_VAL)), bits + 1);
    ASSERT_EQ(pack(middle, Rounding::kZero), bits);
    ASSERT_EQ(pack(middle, Rounding::kDown), bits);
    ASSERT_EQ(pack(middle, Rounding::kUp), bits + 1);
    ASSERT_EQ(pack(middle, Rounding::kAway), bits + 1);
    const std::uint32_t sign = 1U << (format.mantissa + format.exponent);
    ASSERT_EQ(pack(-value), sign | bits);
    ASSERT_EQ(pack(-middle), sign | even);
    ASSERT_EQ(pack(-middle, Rounding::kDown), sign | (bits + 1));
    ASSERT_EQ(unpackSmall(format, sign | bits), -value);
  }
}

TEST(PtxHalf, EachValueAndMiddle_RoundedRight) {
  checkFormat(kHalf, 0x7bff);
  checkFormat(kBrain, 0x7f7f);
  checkFormat(kTensor, 0x3fbff);
  checkFormat(kE4m3, 0x7e);
  checkFormat(kE5m2, 0x7b);
}

TEST(PtxHalf, RangeEnds_OverflowUnderflowAndNan) {
  EXPECT_EQ(packSmall(kHalf, 65519.999, Rounding::kNearest, Overflow::kInfinity), 0x7bffU);
  EXPECT_EQ(packSmall(kHalf, 65520, Rounding::kNearest, Overflow::kInfinity), 0x7c00U);
  EXPECT_EQ(packSmall(kHalf, 65520, Rounding::kNearest, Overflow::kFinite), 0x7bffU);
  EXPECT_EQ(packSmall(kHalf, -1e9, Rounding::kUp, Overflow::kInfinity), 0xfbffU);
  EXPECT_EQ(packSmall(kHalf, HUGE_VAL, Rounding::kZero, Overflow::kInfinity), 0x7c00U);
  EXPECT_EQ(packSmall(kHalf, 5e-324, Rounding::kUp, Overflow::kInfinity), 1U);
  EXPECT_EQ(packSmall(kBrain, NAN, Rounding::kNearest, Overflow::kInfinity), 0x7fffU);
  EXPECT_EQ(packSmall(kE4m3, 1e9, Rounding::kNearest, Overflow::kFinite), 0x7eU);
  EXPECT_TRUE(std::isnan(unpackSmall(kE4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(unpackSmall(kHalf, 0xfe00)));
  EXPECT_EQ(unpackSmall(kHalf, 0xfc00), -HUGE_VAL);
}

// 2^-24 times (1 - 2^-10), added to 1: the middle is missed by less than a double shows.
TEST(PtxHalf, FusedOperations_RoundOnce) {
  const double a = unpackSmall(kBrain, 0x3f81);  // 1 + 2^-7
  const double tiny = std::ldexp(1.0, -120);
  const double middle = 1 + std::ldexp(1.0, -8);
  const auto once = [](double x, double y, double z) {
    return packSmall(kBrain, fusedToOdd(x, y, z), Rounding::kNearest, Overflow::kInfinity);
  };
  EXPECT_EQ(once(tiny, tiny, middle), 0x3f81U) << "above the middle";
  EXPECT_EQ(once(tiny, -tiny, middle), 0x3f80U) << "below it";
  EXPECT_EQ(once(1, 0, middle), 0x3f80U) << "to even";
  EXPECT_EQ(once(a, a, 0), 0x3f82U);
}

}  // namespace
}  // namespace divvy::ptx
