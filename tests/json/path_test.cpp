#include "json/path.h"

#include <utility>

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace divvy {
namespace {

namespace json = boost::json;

const json::value& sample() {
  static const json::value value = json::parse(
      R"({"meta":{"name":"n","none":null,"count":3,"large":9223372036854775808,"part":1.5,
          "list":[1,2],"empty":""},"text":"t"})");
  return value;
}

TEST(MemberAt, Path_MemberOfTheInnermostObject) {
  EXPECT_EQ(memberAt(sample(), {"meta", "name"}), &sample().at("meta").at("name"));
  EXPECT_EQ(memberAt(sample(), {"text"}), &sample().at("text"));
  EXPECT_EQ(memberAt(sample().get_object(), {"meta", "name"}),
            memberAt(&sample(), {"meta", "name"}));
}

TEST(MemberAt, AbsentOrNoObject_Null) {
  EXPECT_EQ(memberAt(sample(), {"other"}), nullptr);
  EXPECT_EQ(memberAt(sample(), {"other", "name"}), nullptr);
  EXPECT_EQ(memberAt(sample(), {"text", "name"}), nullptr);
  EXPECT_EQ(memberAt(sample(), {"meta", "list", "0"}), nullptr);
  EXPECT_EQ(memberAt(sample().at("text"), {"name"}), nullptr);
  const json::value* none = nullptr;
  EXPECT_EQ(memberAt(none, {"name"}), nullptr);
}

TEST(MemberAt, NullValue_AMemberThatIsNotPresent) {
  ASSERT_NE(memberAt(sample(), {"meta", "none"}), nullptr);
  EXPECT_TRUE(memberAt(sample(), {"meta", "none"})->is_null());
  EXPECT_EQ(memberAt(sample(), {"meta", "none", "more"}), nullptr);
  EXPECT_EQ(presentAt(sample(), {"meta", "none"}), nullptr);
  EXPECT_NE(presentAt(sample(), {"meta", "empty"}), nullptr);
  EXPECT_EQ(presentAt(sample(), {"other"}), nullptr);
}

TEST(TextAt, OtherThanString_Empty) {
  EXPECT_EQ(textAt(sample(), {"meta", "name"}), "n");
  EXPECT_EQ(textAt(sample().get_object(), {"text"}), "t");
  EXPECT_EQ(textAt(&sample(), {"text"}), "t");
  for (const char* name : {"none", "count", "list", "empty", "other"})
    EXPECT_EQ(textAt(sample(), {"meta", name}), "") << name;
}

TEST(IntegerAt, OtherThanInt64_Zero) {
  EXPECT_EQ(integerAt(sample(), {"meta", "count"}), 3);
  for (const char* name : {"none", "large", "part", "name", "other"})
    EXPECT_EQ(integerAt(sample(), {"meta", name}), 0) << name;
}

TEST(ObjectAt, OtherThanObject_Empty) {
  EXPECT_EQ(objectAt(sample(), {"meta"}).size(), 7u);
  EXPECT_TRUE(objectAt(sample(), {"text"}).empty());
  EXPECT_TRUE(objectAt(sample(), {"other"}).empty());
}

TEST(ListAt, OtherThanList_Empty) {
  EXPECT_EQ(listAt(sample(), {"meta", "list"}).size(), 2u);
  EXPECT_TRUE(listAt(sample(), {"meta"}).empty());
  EXPECT_TRUE(listAt(sample(), {"other"}).empty());
}

template <typename T>
concept Found = requires(T value) {
  memberAt(std::forward<T>(value), {"name"});
};
template <typename T>
concept Listed = requires(T value) {
  listAt(std::forward<T>(value), {"name"});
};

TEST(MemberAt, Temporary_Refused) {
  EXPECT_TRUE(Found<const json::value&>);
  EXPECT_TRUE(Found<json::value&>);
  EXPECT_FALSE(Found<json::value>);
  EXPECT_TRUE(Listed<json::value&>);
  EXPECT_FALSE(Listed<json::value>);
}

}  // namespace
}  // namespace divvy
