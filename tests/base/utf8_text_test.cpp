#include "base/utf8_text.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

TEST(Utf8Prefix, TooLong_CutBetweenCharacters) {
  const std::string text = "a\u00e9\u4e2d\U0001F600";  // 1, 2, 3 and 4 bytes
  const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t most = 0; most < std::size(expected); ++most)
    EXPECT_EQ(utf8Prefix(text, most), text.substr(0, expected[most])) << most;
}

}  // namespace
}  // namespace divvy
