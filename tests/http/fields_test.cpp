#include "http/fields.h"

#include <gtest/gtest.h>

#include "http/query.h"

namespace divvy::http {
namespace {

TEST(Fields, Name_FoundInAnyCase) {
  Fields fields{{"Accept", "a"}, {"X-One", "1"}, {"accept", "b"}};
  ASSERT_NE(fields.find("ACCEPT"), nullptr);
  EXPECT_EQ(*fields.find("ACCEPT"), "a");
  EXPECT_EQ(fields.find("Accep"), nullptr);
  fields.set("aCCept", "c");
  ASSERT_EQ(fields.all().size(), 2u);
  EXPECT_EQ(*fields.find("Accept"), "c");
  EXPECT_FALSE(equalNames("a[", "a{")) << "no letters";
}

TEST(Query, Absent_EmptyText) {
  Query query;
  query.fields.add("Accept", "a");
  query.captures.add("id", "7");
  EXPECT_EQ(query.header("accept"), "a");
  EXPECT_EQ(query.header("Host"), "");
  EXPECT_EQ(query.capture("id"), "7");
  EXPECT_EQ(query.capture("ID"), "");
  EXPECT_EQ(query.parameter("a"), nullptr);
}

}  // namespace
}  // namespace divvy::http
