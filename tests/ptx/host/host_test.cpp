// The host's half of the comparison, against what is known without it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "device.h"

// Kernels whose results have names.
#include "calls.cu"
#include "hashes.cu"
#include "local.cu"

namespace divvy::ptxhost {
namespace {

template <typename F>
void expectEveryValueReturns() {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const SmallFloat<F> value{static_cast<std::uint16_t>(bits)};
    const auto back = SmallFloat<F>::from(value.wide());
    EXPECT_EQ(back.bits, value.isNan() ? F::kNan : bits);
  }
}
TEST(SmallFloats, EachValue_ReturnsFromDouble) {
  expectEveryValueReturns<HalfFormat>();
  expectEveryValueReturns<BfloatFormat>();
}

TEST(SmallFloats, EachDirection_IsRounded) {
  const double just_above = 1 + 0x1p-20;
  EXPECT_EQ(narrow<HalfFormat>(just_above, kRn), 0x3c00);
  EXPECT_EQ(narrow<HalfFormat>(just_above, kRu), 0x3c01);
  EXPECT_EQ(narrow<HalfFormat>(-just_above, kRd), 0xbc01);
  EXPECT_EQ(narrow<HalfFormat>(-just_above, kRu), 0xbc00);
  EXPECT_EQ(narrow<HalfFormat>(1 + 0x1p-11), 0x3c00) << "a tie goes to the even one";
  EXPECT_EQ(narrow<HalfFormat>(1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(narrow<HalfFormat>(65520), 0x7c00);
  EXPECT_EQ(narrow<HalfFormat>(65520, kRz), 0x7bff);
  EXPECT_EQ(narrow<HalfFormat>(-1e9, kRu), 0xfbff);
  EXPECT_EQ(narrow<HalfFormat>(0x1p-25), 0) << "half of the least denormal";
  EXPECT_EQ(narrow<HalfFormat>(0x1.8p-25), 1);
  EXPECT_EQ(narrow<HalfFormat>(1e-30, kRu), 1);
}

// How many 2^-places it is: exact for every half, whose least step is 2^-24.
ptxhost_wide inUnits(SmallFloat<HalfFormat> value, int places) {
  return static_cast<ptxhost_wide>(std::ldexp(value.wide(), 24)) << (places - 24);
}

// A fused result is one of the two neighbours of the exact one, and the nearer.
TEST(SmallFloats, Fused_RoundsOnce) {
  std::mt19937 random(7);
  const auto any = [&] {
    return SmallFloat<HalfFormat>{
        static_cast<std::uint16_t>(random() % 0x7c00 | (random() & 0x8000))};
  };
  for (int turn = 0; turn < 200000; ++turn) {
    const auto a = any();
    const auto b = any();
    const auto c = any();
    const auto result = fused(a, b, c);
    if ((result.bits & 0x7fff) >= 0x7bff || (result.bits & 0x7fff) == 0) continue;
    const ptxhost_wide exact = inUnits(a, 24) * inUnits(b, 24) + inUnits(c, 48);
    const auto away = [&](int step) {
      const auto bits = static_cast<std::uint16_t>(result.bits + step);
      const ptxhost_wide difference = exact - inUnits(SmallFloat<HalfFormat>{bits}, 48);
      return difference < 0 ? -difference : difference;
    };
    EXPECT_TRUE(away(0) <= away(1) && away(0) <= away(-1));
    const bool tie = away(0) == away(1) || away(0) == away(-1);
    EXPECT_TRUE(!tie || result.bits % 2 == 0);
  }
}

TEST(Conversions, OutOfRangeOrNan_Saturates) {
  EXPECT_EQ(__float2int_rz(1e20f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rz(-1e20f), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2uint_rn(-3.0f), 0U);
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__double2int_rn(NAN), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2ull_rn(NAN), 1ULL << 63);
  EXPECT_EQ(__double2ll_rn(2.5), 2);
  EXPECT_EQ(__double2ll_ru(2.5), 3);
  EXPECT_EQ(__double2ll_rd(-2.5), -3);
  EXPECT_EQ(__ll2float_rz(0x7fffffffffffffff), 0x1.fffffep62f);
}

TEST(Rounding, EachDirection_IsObeyed) {
  EXPECT_GT(__fadd_ru(1.0f, 1e-20f), 1.0f);
  EXPECT_EQ(__fadd_rn(1.0f, 1e-20f), 1.0f);
  EXPECT_LT(__dadd_rd(1.0, -1e-30), 1.0);
  EXPECT_LT(__ddiv_rd(1.0, 3.0), __ddiv_ru(1.0, 3.0));
  EXPECT_LT(__fsqrt_rd(2.0f), __fsqrt_ru(2.0f));
  EXPECT_LT(__fma_rz(0.1, 0.1, 1.0), __fma_ru(0.1, 0.1, 1.0));
}

TEST(RunGrid, Threads_MeetAtBarriersAndInWarps) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    std::array<int, 40> counts = {};
    std::array<unsigned, 40> turned = {};
    runGrid({1}, {40}, order, [&] {
      const unsigned t = threadIdx.x;
      counts[t] = __syncthreads_count(t % 4 == 0);
      const unsigned mask = t < 32 ? 0xffffffffU : 0xffU;
      turned[t] = __shfl_xor_sync(mask, t, 7);
    });
    for (unsigned t = 0; t < 40; ++t) {
      EXPECT_EQ(counts[t], 10);
      EXPECT_EQ(turned[t], t ^ 7);
    }
  }
}

TEST(RunGrid, EndedThreads_AreNotAwaited) {
  int met = 0;
  runGrid({1}, {64}, Order::kForward, [&] {
    if (threadIdx.x >= 20) return;
    __syncthreads();
    met += __any_sync(0xffffffffU, threadIdx.x == 19);
  });
  EXPECT_EQ(met, 20);
}

TEST(RunGrid, BarriersNeverMet_Throw) {
  EXPECT_THROW(runGrid({1}, {2}, Order::kForward,
                       [] {
                         if (threadIdx.x == 0) __syncthreads();
                         if (threadIdx.x == 1) __syncwarp(3);
                       }),
               std::runtime_error);
}

TEST(Kernels, KnownKernels_PublishedResults) {
  const std::vector<unsigned char> digits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  unsigned crc = 0;
  runGrid({1}, {1}, Order::kForward, [&] { crc32Bytes(digits.data(), 9, &crc); });
  EXPECT_EQ(crc, 0xcbf43926U);

  std::array<unsigned, 8> solutions = {};
  runGrid({1}, {8}, Order::kBackward, [&] { queens(8, solutions.data()); });
  unsigned all = 0;
  for (const unsigned count : solutions) all += count;
  EXPECT_EQ(all, 92U);

  std::array<unsigned, 12> values = {};
  runGrid({1}, {12}, Order::kForward, [&] { callAckermann(values.data()); });
  EXPECT_EQ(values[11], 9U) << "A(2, 3)";
}

}  // namespace
}  // namespace divvy::ptxhost
