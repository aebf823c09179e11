#include "base/bytes.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

struct Good {
  const char* text;
  std::uint64_t count;
};

TEST(ParseBytes, AcceptedForms_AreRead) {
  const Good table[] = {{"1", 1},
                        {"512Mi", 512ull << 20},
                        {"4Gi", 4ull << 30},
                        {"4GiB", 4ull << 30},
                        {"1.5Gi", 3ull << 29},
                        {"800M", 800000000ull},
                        {"2k", 2000},
                        {"0.5Ki", 512},
                        {"1Ti", 1ull << 40}};
  for (const Good& row : table) {
    const Result<Bytes> got = parseBytes(row.text);
    ASSERT_TRUE(got) << row.text;
    EXPECT_EQ(got->count, row.count) << row.text;
  }
}

TEST(ParseBytes, InvalidText_ErrorSaysAccepted) {
  for (const char* text : {"", "Gi", "-1Gi", "0", "0Gi", "4Gb", "4 Gi", "1.5", "4Xi", "1e9",
                           "99999999999999999999", "9000000Ti", "1.0000000000001Ki"}) {
    const Result<Bytes> got = parseBytes(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code(), ErrorCode::kUsage);
    EXPECT_NE(got.error().message().find("accepted"), std::string::npos) << text;
  }
}

TEST(Bytes, Arithmetic_Saturates) {
  EXPECT_EQ((Bytes{5} - Bytes{7}).count, 0u);
  EXPECT_EQ((Bytes{UINT64_MAX} + Bytes{7}).count, UINT64_MAX);
}

TEST(FormatBytes, AnySize_LargestUnitIsUsed) {
  EXPECT_EQ(formatBytes(gib(4)), "4 GiB");
  EXPECT_EQ(formatBytes(mib(1536)), "1.5 GiB");
  EXPECT_EQ(formatBytes(Bytes{512}), "512 B");
}

}  // namespace
}  // namespace divvy
