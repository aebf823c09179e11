// Rows that views share.
#include "rows/list_row.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

namespace bj = boost::json;

Row sampleRow(int value) {
  return Row{{"id", "a"}, {"value", value}, {"parts", bj::array{bj::object{{"used", value}}}}};
}

TEST(ListRow, MembersAndText_ThoseOfTheRow) {
  const ListRow row(sampleRow(7));
  EXPECT_EQ(row.members(), sampleRow(7));
  EXPECT_EQ(bj::parse(row.text()), bj::value(sampleRow(7)));
  EXPECT_EQ(row.at("value"), 7);
  EXPECT_THROW(row.at("no such member"), std::out_of_range);
}

TEST(ListRow, RowsOfOneKind_OneShape) {
  const ListRow one(sampleRow(1)), two(sampleRow(2)), other(Row{{"id", "a"}, {"value", 1}});
  EXPECT_EQ(&one.shape(), &two.shape());
  EXPECT_NE(&one.shape(), &other.shape());
  EXPECT_FALSE(other.equals(sampleRow(1)));
}

TEST(RowMember, RowsOfSeveralKinds_MemberOfEach) {
  RowMember value("value");
  const ListRow first(sampleRow(1)), second(Row{{"value", 2}, {"id", "b"}}), none(Row{{"id", "c"}});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(*value.in(first), 1);
    EXPECT_EQ(*value.in(second), 2);
    EXPECT_EQ(value.in(none), nullptr);
  }
}

TEST(SharedRows, EqualRow_SameAddressAsFirstEarlier) {
  const SharedRows before = sharedRows({{"a", sampleRow(1)}, {"b", sampleRow(1)}}, {});
  const SharedRows whole = sharedRows({{"a", sampleRow(2)}, {"c", sampleRow(3)}}, {});
  const SharedRows now = sharedRows({{"a", sampleRow(2)}, {"b", sampleRow(1)}, {"c", sampleRow(4)}},
                                    {&before, &whole});
  EXPECT_EQ(now.at("a"), whole.at("a"));
  EXPECT_EQ(now.at("b"), before.at("b"));
  EXPECT_NE(now.at("c"), whole.at("c"));
  EXPECT_FALSE(same(now.at("c"), whole.at("c")));
  EXPECT_EQ(sharedRow(sampleRow(1), {nullptr, before.at("a")}), before.at("a"));
}

}  // namespace
}  // namespace divvy::console
