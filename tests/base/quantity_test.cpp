#include "base/quantity.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

std::int64_t wholeOf(const char* text) {
  const auto parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message();
  return parsed && parsed->whole() ? *parsed->whole() : -1;
}

TEST(Quantity, Integers_ReadInEachForm) {
  EXPECT_EQ(wholeOf("0"), 0);
  EXPECT_EQ(wholeOf("3000"), 3000);
  EXPECT_EQ(wholeOf("3k"), 3000) << "an API server writes 3000 like this";
  EXPECT_EQ(wholeOf("+3M"), 3'000'000);
  EXPECT_EQ(wholeOf("16Gi"), std::int64_t{16} << 30);
  EXPECT_EQ(wholeOf("1.5Ki"), 1536);
  EXPECT_EQ(wholeOf(".5k"), 500);
  EXPECT_EQ(wholeOf("2."), 2);
  EXPECT_EQ(wholeOf("1e3"), 1000);
  EXPECT_EQ(wholeOf("1E3"), 1000);
  EXPECT_EQ(wholeOf("2000m"), 2);
  EXPECT_EQ(wholeOf("2500e-2"), 25);
  EXPECT_EQ(wholeOf("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(wholeOf("7Ei"), std::int64_t{7} << 60);
}

TEST(Quantity, Fractions_AreKept) {
  const auto half = Quantity::parse("500m");
  ASSERT_TRUE(half);
  EXPECT_FALSE(half->whole());
  EXPECT_EQ(half->milli(), 500);
  EXPECT_EQ(Quantity::parse("1n")->milli(), 1) << "up, never to nothing";
  EXPECT_EQ(Quantity::parse("-1n")->milli(), 0);
  EXPECT_EQ(Quantity::parse("0.1")->milli(), 100);
  EXPECT_EQ(Quantity::parse("-1.5")->milli(), -1500);
}

TEST(Quantity, Ceil_RoundsUpWithoutOverflow) {
  EXPECT_EQ(Quantity::parse("1500m")->ceil(), 2);
  EXPECT_EQ(Quantity::parse("-1500m")->ceil(), -1);
  EXPECT_EQ(Quantity::parse("9223372036854775806.5")->ceil(), INT64_MAX);
  EXPECT_EQ(Quantity::parse("9223372036854775807")->ceil(), INT64_MAX);
}

TEST(Quantity, BinarySuffix_IsBinary) {
  EXPECT_TRUE(Quantity::parse("16Gi")->binary());
  EXPECT_FALSE(Quantity::parse("16G")->binary());
  EXPECT_FALSE(Quantity::parse("16")->binary());
  EXPECT_TRUE(Quantity::parse("-1Ki")->negative());
}

TEST(Quantity, InvalidText_ErrorSaysAccepted) {
  for (const char* text : {"",
                           "-",
                           "+",
                           ".",
                           "abc",
                           "1 Gi",
                           "1GiB",
                           "Gi",
                           "1K",
                           "1e",
                           "1e+",
                           "1e100",
                           "1e-20",
                           "--1",
                           "1.2.3",
                           "0x10",
                           "1_000",
                           "9223372036854775808",
                           "8Ei1",
                           "9Ei",
                           "10E",
                           "1e19",
                           "99999999999999999999999999999",
                           "0.00000000001",
                           "0.3n",
                           "\xff",
                           "1\n"}) {
    const auto parsed = Quantity::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kUsage);
    EXPECT_NE(parsed.error().message().find("accepted"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace divvy
