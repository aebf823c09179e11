#include <gtest/gtest.h>

#include "base/bytes.h"
#include "ledger/pages.h"

namespace divvy::ledger {
namespace {

// What the interposer reads without the C++ library is what the command line reads, less fractions.
TEST(ParseByteLimit, EachText_AgreesWithParseBytes) {
  for (const char* text : {"1",
                           "512Mi",
                           "4Gi",
                           "4GiB",
                           "800M",
                           "2k",
                           "1K",
                           "1Ti",
                           "9223372036854775807",
                           "",
                           "Gi",
                           "-1Gi",
                           "0",
                           "0Gi",
                           "4Gb",
                           "4 Gi",
                           "4Xi",
                           "1e9",
                           "99999999999999999999",
                           "9000000Ti",
                           "9223372036854775808",
                           "+1",
                           "1GiBx",
                           "1 "}) {
    std::uint64_t bytes = 0;
    const bool good = parseByteLimit(text, &bytes);
    const Result<Bytes> expected = parseBytes(text);
    EXPECT_EQ(good, expected.has_value()) << text;
    if (!good || !expected) continue;
    EXPECT_EQ(bytes, expected->count) << text;
  }
}

TEST(ParseByteLimit, Fraction_IsRefused) {
  std::uint64_t bytes = 0;
  EXPECT_FALSE(parseByteLimit("1.5Gi", &bytes));
}

}  // namespace
}  // namespace divvy::ledger
