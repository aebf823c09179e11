// The place of a row in a list, and cursors that name one. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "rows/list_row.h"

namespace divvy::console {

// A member of a row and the row's identifier. Refers to the row, or to texts that its maker keeps.
struct SortKey {
  enum class Rank : std::uint8_t { kBool, kNumber, kText, kNull };

  Rank rank = Rank::kNull;
  double number = 0;      // of a number
  std::string_view text;  // of a text, cut after 256 bytes; "true", "false"
  std::string_view id;
};

// Returns the key of a row for this member. Lists and objects are ordered as their text, which is
// put into `texts`.
SortKey keyOf(const ListRow& row, RowMember& member, std::deque<std::string>& texts);

// Returns whether a row is before another one: by kind, value, identifier. A row without a value is
// last in both directions.
bool isBefore(const SortKey& one, const SortKey& two, bool descending);

// A key as a viewer holds it.
class Cursor {
 public:
  // Returns the text for a key in this order (a member; "-" in front: descending). It needs no
  // quotes in an address.
  static std::string textOf(const std::string& order, const SortKey& key);
  // kUsage: the text is not one of this order.
  static Result<Cursor> read(std::string text, const std::string& order);

  // Valid as long as this object.
  SortKey key() const;

 private:
  boost::json::value value_;
  std::string id_;
};

}  // namespace divvy::console
