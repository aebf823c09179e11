#include "kube/renamed_annotation.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace divvy::kube {
namespace {

constexpr const char* kKey = "divvy.dev/reservation";

TEST(RenamedAnnotation, OneKey_ItsValueIsFound) {
  EXPECT_EQ(findRenamed({}, kKey), nullptr);
  EXPECT_EQ(*findRenamed({{kKey, "new"}}, kKey), "new");
  EXPECT_EQ(*findRenamed({{"divvy.dev/plan", "old"}}, kKey), "old");
  EXPECT_EQ(*findRenamed({{"divvy.dev/plan", ""}}, kKey), "");
  EXPECT_EQ(*findRenamed({{"divvy.dev/other", "a"}}, "divvy.dev/other"), "a");
}

TEST(RenamedAnnotation, ValuesDiffer_LaterWriterOfBeforeCounts) {
  EXPECT_EQ(*findRenamed({{"divvy.dev/plan", "later"}, {kKey, "new"}}, kKey), "later");
  EXPECT_EQ(*findRenamed({{"divvy.dev/plan", ""}, {kKey, "new"}}, kKey), "new");
}

TEST(RenamedAnnotation, OldKey_OfRenamedOnly) {
  EXPECT_EQ(oldKeyOf("divvy.dev/scheduler-term"), "divvy.dev/lease");
  EXPECT_THROW(oldKeyOf("divvy.dev/inventory"), std::logic_error);
}

}  // namespace
}  // namespace divvy::kube
