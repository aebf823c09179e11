#include "lists/list_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include <boost/json.hpp>

#include "base/base64.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

const std::vector<std::string_view> kFields{"id", "name", "key", "list"};
const ListKind kThings{"things", &kFields, "id", {"name", "list"}};

// Keys of all types that rows have, few enough to be equal often.
rc::Gen<bj::value> anyKey() {
  // From an array: a list of initial values would be one value.
  const bj::array all{nullptr,
                      true,
                      false,
                      0,
                      -1,
                      7,
                      7u,
                      7.5,
                      std::uint64_t{1} << 63,
                      (std::uint64_t{1} << 53) + 1,
                      std::uint64_t{1} << 53,
                      "",
                      "a",
                      "A",
                      "b\n\"",
                      "\xC3\xA9",
                      "a:b",
                      std::string(5000, 'x'),
                      std::string(5000, 'x') + "y",
                      "\xff\xfe",
                      bj::array{"python", "train.py"},
                      bj::object{{"a", 1}}};
  return rc::gen::elementOf(std::vector<bj::value>(all.begin(), all.end()));
}

std::vector<Row> anyRows() {
  const auto count = *rc::gen::inRange<std::size_t>(0, 25);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    // Neighbours of the map's order are not those of the input.
    Row row{{"id", "r" + std::to_string((i * 7) % 25)},
            {"name", *rc::gen::element<std::string>("alpha", "Beta", "beta:2", "")},
            {"list", bj::array{"python", std::to_string(i % 3)}}};
    if (*rc::gen::inRange(0, 5) != 0) row["key"] = *anyKey();
    rows.push_back(std::move(row));
  }
  return rows;
}

SharedRows listOf(const std::vector<Row>& rows) {
  SharedRows list;
  for (const Row& row : rows)
    list.emplace(row.at("id").get_string(), std::make_shared<const ListRow>(row));
  return list;
}

Result<ListPage> pageOf(const std::vector<Row>& rows, const ListQuery& query,
                        const ListKind& kind = kThings) {
  const SharedRows list = listOf(rows);
  return selectPage(orderedRows(list, query.order), kind, query);
}

std::vector<Row> itemsOf(const ListPage& page) {
  std::vector<Row> items;
  const bj::value parsed = bj::parse(page.items);
  for (const bj::value& item : parsed.as_array()) items.push_back(item.as_object());
  return items;
}

std::vector<std::string> idsOf(const ListPage& page) {
  std::vector<std::string> ids;
  for (const Row& row : itemsOf(page)) ids.emplace_back(row.at("id").get_string());
  return ids;
}

std::string anyOrder() {
  return *rc::gen::element<std::string>("id", "-id", "name", "-name", "key", "-key", "list",
                                        "-list");
}

std::vector<std::string> anyFilters() {
  return *rc::gen::elementOf(std::vector<std::vector<std::string>>{
      std::vector<std::string>{}, std::vector<std::string>{"name:BETA"},
      std::vector<std::string>{"alpha"}, std::vector<std::string>{"beta:2"},
      std::vector<std::string>{"key:7", "name:"}, std::vector<std::string>{"id:r1"},
      std::vector<std::string>{"nothing has this"}});
}

// Reads all pages as a viewer does. `between` may change the rows after a page.
std::vector<std::string> readPages(
    std::vector<Row> rows, ListQuery query,
    const std::function<void(std::vector<Row>&, const ListPage&)>& between = {}) {
  std::vector<std::string> ids;
  for (std::size_t page = 0; page < 200; ++page) {
    const Result<ListPage> read = pageOf(rows, query);
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->count <= query.limit);
    for (const std::string& id : idsOf(*read)) ids.push_back(id);
    if (read->next.empty()) return ids;
    RC_ASSERT(read->count > 0);
    query.after = read->next;
    if (between) between(rows, *read);
  }
  RC_FAIL("the pages do not end");
  return ids;
}

RC_GTEST_PROP(ListQuery, AnyRows_PagesHaveEachRowOnceInOrder, ()) {
  const std::vector<Row> rows = anyRows();
  ListQuery query;
  query.order = anyOrder();
  query.filters = anyFilters();
  query.limit = kMaxRows;
  const Result<ListPage> whole = pageOf(rows, query);
  RC_ASSERT(whole.has_value());
  RC_ASSERT(whole->next.empty());
  RC_ASSERT(whole->total == whole->count);
  query.limit = *rc::gen::inRange<std::size_t>(1, 6);
  const std::vector<std::string> ids = readPages(rows, query);
  RC_ASSERT(ids == idsOf(*whole));
  RC_ASSERT(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
}

RC_GTEST_PROP(ListQuery, NoFilter_AllRowsNullLast, ()) {
  const std::vector<Row> rows = anyRows();
  ListQuery query;
  query.order = *rc::gen::element<std::string>("key", "-key");
  query.limit = kMaxRows;
  const Result<ListPage> page = pageOf(rows, query);
  RC_ASSERT(page.has_value());
  RC_ASSERT(page->count == rows.size());
  const bool descending = query.order.front() == '-';
  bool null_seen = false;
  const bj::value* before = nullptr;
  const std::vector<Row> items = itemsOf(*page);
  for (const Row& row : items) {
    const bj::value* key = row.if_contains("key");
    const bool null = key == nullptr || key->is_null();
    RC_ASSERT(null || !null_seen);
    null_seen = null_seen || null;
    const auto number = [](const bj::value* value) {
      return value != nullptr && value->is_number();
    };
    if (number(key) && number(before)) {
      const auto a = before->to_number<double>(), b = key->to_number<double>();
      RC_ASSERT((descending ? a >= b : a <= b));
    }
    before = key;
  }
}

// Rows of the page that was read end, others begin: each row that stays is seen exactly once.
RC_GTEST_PROP(ListQuery, RowsComeAndGo_RowsThatStaySeenOnce, ()) {
  const std::vector<Row> rows = anyRows();
  ListQuery query;
  query.order = anyOrder();
  query.limit = *rc::gen::inRange<std::size_t>(1, 4);
  std::set<std::string> ended;
  int begun = 0;
  const std::vector<std::string> ids =
      readPages(rows, query, [&](std::vector<Row>& now, const ListPage& page) {
        const std::string last(itemsOf(page).back().at("id").get_string());
        ended.insert(last);
        std::erase_if(now, [&](const Row& row) { return row.at("id").get_string() == last; });
        if (++begun > 5) return;
        now.push_back({{"id", "new" + std::to_string(begun)}, {"name", ""}, {"key", begun}});
      });
  for (const Row& row : rows) {
    const std::string id(row.at("id").get_string());
    const auto times = std::count(ids.begin(), ids.end(), id);
    RC_ASSERT((ended.contains(id) ? times <= 1 : times == 1));
  }
}

// A cursor is the viewer's: nothing in it may end the console.
RC_GTEST_PROP(ListQuery, HostileCursor_RefusedOrPage, ()) {
  const std::vector<Row> rows = anyRows();
  ListQuery query;
  query.order = anyOrder();
  const bj::value key = *anyKey();
  const auto random = *rc::gen::arbitrary<std::string>();
  query.after = *rc::gen::elementOf(std::vector<std::string>{
      random, toBase64(random), toBase64("[]"), toBase64("[1]"), toBase64("[1,2]"),
      toBase64("[[1],\"a\"]"), toBase64("[null,null]"), toBase64("{\"a\":1}"),
      toBase64("[1e999,\"a\"]"), toBase64("[\"id\",1,\"r1\"]"), toBase64("[0,1,2,3]"),
      toBase64(std::string(4000, '[')), toBase64(bj::serialize(bj::array{key, "r3"})),
      toBase64(bj::serialize(bj::array{query.order, key, "r3"}))});
  const Result<ListPage> page = pageOf(rows, query);
  if (!page) {
    RC_ASSERT(page.error().code() == ErrorCode::kUsage);
    RC_ASSERT(page.error().message().starts_with("after: "));
  } else {
    RC_ASSERT(page->count <= rows.size());
  }
}

std::vector<Row> twoRows() {
  return {{{"id", "a"}, {"name", "one"}, {"key", 2}, {"list", bj::array{}}},
          {{"id", "b"}, {"name", "two"}, {"key", 1}, {"list", bj::array{}}}};
}

TEST(ListQuery, CursorOfOtherOrder_Refused) {
  const std::vector<Row> rows = twoRows();
  ListQuery query;
  query.order = "id";
  query.limit = 1;
  query.after = pageOf(rows, query)->next;
  ASSERT_FALSE(query.after.empty());
  EXPECT_TRUE(pageOf(rows, query));
  query.order = "key";
  EXPECT_FALSE(pageOf(rows, query));
  query.order = "-id";
  EXPECT_FALSE(pageOf(rows, query));
}

// A cursor is part of an address, and a header has at most 16 KiB.
TEST(ListQuery, LongKeys_CursorFitsAddress) {
  std::vector<Row> rows;
  for (const char* id : {"a", "b"})
    rows.push_back({{"id", id},
                    {"name", std::string(60'000, '\x01')},
                    {"list", bj::array{std::string(60'000, 'x')}}});
  for (const char* order : {"name", "list"}) {
    ListQuery query;
    query.order = order;
    query.limit = 1;
    const Result<ListPage> page = pageOf(rows, query);
    ASSERT_TRUE(page);
    EXPECT_LT(page->next.size(), 4096u) << order;
    query.after = page->next;
    const Result<ListPage> second = pageOf(rows, query);
    ASSERT_TRUE(second) << order;
    EXPECT_EQ(idsOf(*second), std::vector<std::string>{"b"});
  }
}

TEST(ListQuery, Fields_OnlyThoseAndId) {
  const std::vector<Row> rows = twoRows();
  ListQuery query;
  query.order = "id";
  query.fields = {"name"};
  const Result<ListPage> page = pageOf(rows, query);
  ASSERT_TRUE(page);
  EXPECT_EQ(itemsOf(*page).front(), (Row{{"id", "a"}, {"name", "one"}}));
}

TEST(ListQuery, CursorBehindLastRow_EmptyPageWithTotal) {
  const std::vector<Row> rows = twoRows();
  ListQuery query;
  query.order = "id";
  query.limit = 1;
  query.after = pageOf(rows, query)->next;
  const Result<ListPage> page = pageOf({rows.front()}, query);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items, "[]");
  EXPECT_TRUE(page->next.empty());
  EXPECT_EQ(page->total, 1u);
}

struct Refused {
  const char* word;
  std::string text;
  const char* accepted;  // a part of the message
};

TEST(ReadListQuery, UnknownWordsAndValues_RefusedWithAccepted) {
  const std::string name = "name";
  const std::vector<Refused> cases{
      {"page", "2", "accepted: limit, after, sort, filter, fields"},
      {"", "", "accepted: limit"},
      {"LIMIT", "2", "accepted: limit"},
      {"limit", "0", "1 to 500"},
      {"limit", "501", "1 to 500"},
      {"limit", "", "1 to 500"},
      {"limit", "-1", "1 to 500"},
      {"limit", "+1", "1 to 500"},
      {"limit", " 1", "1 to 500"},
      {"limit", "1.0", "1 to 500"},
      {"limit", "18446744073709551617", "1 to 500"},
      {"sort", "nothing", "accepted: id, name, key, list"},
      {"sort", "", "accepted: id, name, key, list"},
      {"sort", "-", "accepted: id, name, key, list"},
      {"sort", "--name", "accepted: id, name, key, list"},
      {"fields", "name,", "accepted: id, name, key, list"},
      {"fields", "", "accepted: id, name, key, list"},
      {"fields", "name, key", "accepted: id, name, key, list"},
  };
  for (const Refused& one : cases) {
    const Result<ListQuery> query = readListQuery(kThings, {{one.word, one.text}});
    ASSERT_FALSE(query) << one.word << "=" << one.text;
    EXPECT_EQ(query.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(query.error().message(), HasSubstr(one.accepted)) << one.word << "=" << one.text;
    EXPECT_LT(query.error().message().size(), 300u);
  }
}

TEST(ReadListQuery, Times_OnlyOfListsThatHaveThem) {
  EXPECT_FALSE(readListQuery(kThings, {{"from", "1"}}));
  const std::vector<std::string_view> fields{"id", "time_ms"};
  const ListKind events{"events", &fields, "-time_ms", {"id"}};
  for (const char* bad : {"", "x", "1.5", "99999999999999999999"})
    EXPECT_FALSE(readListQuery(events, {{"to", bad}})) << bad;
  const Result<ListQuery> query = readListQuery(events, {{"from", "2"}, {"to", "4"}});
  ASSERT_TRUE(query);
  std::vector<Row> rows;
  for (int ms = 1; ms <= 5; ++ms) rows.push_back(Row{{"id", std::to_string(ms)}, {"time_ms", ms}});
  const Result<ListPage> page = pageOf(rows, *query, events);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->count, 2u);
  EXPECT_EQ(idsOf(*page), (std::vector<std::string>{"3", "2"}));
}
TEST(ReadListQuery, LongUnknownWord_MessageShort) {
  const std::string longest(16'000, 'a');
  for (const char* word : {"sort", "fields", longest.c_str()}) {
    const Result<ListQuery> query = readListQuery(kThings, {{word, longest}});
    ASSERT_FALSE(query);
    EXPECT_LT(query.error().message().size(), 300u);
  }
}

TEST(ReadListQuery, TooManyFilters_Refused) {
  std::vector<std::pair<std::string, std::string>> words(kMaxFilters, {"filter", "a"});
  EXPECT_TRUE(readListQuery(kThings, words));
  words.emplace_back("filter", "a");
  EXPECT_FALSE(readListQuery(kThings, words));
}

TEST(ReadListQuery, NoWords_DefaultOrderAndLimit) {
  const Result<ListQuery> query = readListQuery(kThings, {});
  ASSERT_TRUE(query);
  EXPECT_EQ(query->order, "id");
  EXPECT_EQ(query->limit, 100u);
}

TEST(ListQuery, FilterOfMember_OnlyThatMember) {
  const std::vector<Row> rows = twoRows();
  const auto found = [&](const std::string& filter) {
    ListQuery query;
    query.order = "id";
    query.filters = {filter};
    return idsOf(*pageOf(rows, query));
  };
  EXPECT_EQ(found("key:1"), std::vector<std::string>{"b"});
  EXPECT_EQ(found("NAME:one"), std::vector<std::string>{}) << "no member NAME: free text";
  EXPECT_EQ(found("ONE"), std::vector<std::string>{"a"});
  EXPECT_EQ(found("a"), std::vector<std::string>{}) << "free text is not looked up in id";
  EXPECT_EQ(found("name:ONE"), std::vector<std::string>{"a"});
  EXPECT_EQ(found(":"), std::vector<std::string>{});
}

TEST(ListQuery, ExactFilter_WholeTextOfMember) {
  const std::vector<Row> rows{
      Row{{"id", "a"}, {"name", "serve"}, {"key", 1}},
      Row{{"id", "b"}, {"name", "serve-2"}, {"key", 12}},
      Row{{"id", "c"}, {"name", ""}, {"key", nullptr}},
      Row{{"id", "d"}, {"name", "a=b"}, {"key", true}},
      Row{{"id", "e"}, {"name", "name=serve"}},
  };
  using Ids = std::vector<std::string>;
  const auto found = [&](const std::vector<std::string>& filters) {
    ListQuery query;
    query.order = "id";
    query.filters = filters;
    return idsOf(*pageOf(rows, query));
  };
  EXPECT_EQ(found({"name=serve"}), Ids{"a"});
  EXPECT_EQ(found({"name:serve"}), (Ids{"a", "b", "e"}));
  EXPECT_EQ(found({"name=SERVE"}), Ids{}) << "case counts";
  EXPECT_EQ(found({"name=serv"}), Ids{});
  EXPECT_EQ(found({"name="}), Ids{"c"});
  EXPECT_EQ(found({"name=a=b"}), Ids{"d"});
  EXPECT_EQ(found({"name:a=b"}), Ids{"d"}) << "the first of both signs counts";
  EXPECT_EQ(found({"key=1"}), Ids{"a"});
  EXPECT_EQ(found({"key=12"}), Ids{"b"});
  EXPECT_EQ(found({"key=true"}), Ids{"d"});
  EXPECT_EQ(found({"key="}), Ids{}) << "unknown is not an empty text";
  EXPECT_EQ(found({"key=null"}), Ids{});
  EXPECT_EQ(found({"none=serve"}), Ids{}) << "no member: free text";
  EXPECT_EQ(found({"name=serve", "key=1"}), Ids{"a"});
  EXPECT_EQ(found({"name=serve", "key=2"}), Ids{});
}

}  // namespace
}  // namespace divvy::console
