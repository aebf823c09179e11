// Selection of rows for a list: filter, order, page. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "lists/list_order.h"

namespace divvy::console {

// A list and the members of its rows.
struct ListKind {
  std::string_view name;                        // "devices"
  const std::vector<std::string_view>* fields;  // members, "id" among them
  std::string_view order;                       // default: a member, "-" in front: descending
  std::vector<std::string_view> searched;       // members that free text is looked up in
};

// What a viewer asks of a list.
struct ListQuery {
  std::size_t limit = 100;  // 1 to kMaxRows
  std::string after;        // cursor of the page before; empty: the first page
  std::string order;        // member, "-" in front: descending
  // "member:text" (a part of it), "member=text" (all of it) or free text; all have to match.
  std::vector<std::string> filters;
  std::vector<std::string> fields;  // members of the answer beside "id"; empty: all
  // Of a list with a member "time_ms": only rows of [from_ms, to_ms).
  std::optional<std::int64_t> from_ms, to_ms;
};

constexpr std::size_t kMaxRows = 500;
constexpr std::size_t kMaxFilters = 8;

// Reads the query words of a list's address. kUsage: an unknown word, member or value; the message
// names the accepted ones.
Result<ListQuery> readListQuery(const ListKind& kind,
                                const std::vector<std::pair<std::string, std::string>>& words);

// One page of a list.
struct ListPage {
  std::string items;      // a JSON array
  std::size_t count = 0;  // of items
  std::size_t total = 0;  // rows that match the filters
  std::string next;       // cursor of the next page; empty: this is the last one
};

// Returns the page. `rows`: in the order of the query (orderedRows()). A cursor stays valid when
// rows come and go: the next page begins behind its key.
// kUsage: the cursor is not one of this order.
Result<ListPage> selectPage(const OrderedRows& rows, const ListKind& kind, const ListQuery& query);

}  // namespace divvy::console
