#include "agent/device_exclusion.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

const std::vector<DeviceName> kThree{{0, "GPU-aa11"}, {1, "GPU-aa22"}, {4, "GPU-bb11"}};

TEST(DeviceExclusions, IndexUuidOrPrefix_ExcludesMatches) {
  using Which = std::vector<bool>;
  EXPECT_EQ(excludedAmong({}, kThree), (Which{false, false, false}));
  EXPECT_EQ(excludedAmong({{}, {1}}, kThree), (Which{false, true, false}));
  EXPECT_EQ(excludedAmong({{"GPU-bb11"}, {}}, kThree), (Which{false, false, true}));
  // All that begin so.
  EXPECT_EQ(excludedAmong({{"GPU-aa"}, {4}}, kThree), (Which{true, true, true}));
  // An index is the driver's, not a place in the list.
  EXPECT_EQ(excludedAmong({{}, {2}}, kThree), (Which{false, false, false}));
  EXPECT_EQ(excludedAmong({{"GPU-aa111"}, {}}, kThree), (Which{false, false, false}));
}

// Every UUID begins with it: a card would be excluded that nobody named.
TEST(DeviceExclusions, CommonPrefix_ExcludesNone) {
  EXPECT_EQ(excludedAmong({{"GPU-", "", "G"}, {}}, kThree),
            (std::vector<bool>{false, false, false}));
}

TEST(DeviceExclusions, UnmatchedNames_AreReported) {
  EXPECT_EQ(namesOfNone({{"GPU-aa", "GPU-cc"}, {0, 9}}, kThree),
            (std::vector<std::string>{"index 9", "GPU-cc"}));
}

}  // namespace
}  // namespace divvy::agent
