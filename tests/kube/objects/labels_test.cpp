#include "kube/labels.h"

#include <gtest/gtest.h>

namespace divvy::kube {
namespace {

TEST(Labels, ValueOf_ThePresentKeysValue) {
  const Labels all{{"a", "1"}, {"b", ""}};
  ASSERT_NE(valueOf(all, "a"), nullptr);
  EXPECT_EQ(*valueOf(all, "a"), "1");
  ASSERT_NE(valueOf(all, "b"), nullptr) << "an empty value is one";
  EXPECT_EQ(valueOf(all, "c"), nullptr);
}

TEST(Labels, ValueOfEmptyKey_IsNull) {
  const Labels all{{"", "1"}};
  EXPECT_EQ(valueOf(all, ""), nullptr);
}

}  // namespace
}  // namespace divvy::kube
