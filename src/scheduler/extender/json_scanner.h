// Finds the values of members in the text of a JSON object, to read large values from there without
// building objects. Pure. Private.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::scheduler {

struct RawMember {
  std::string_view name;  // as it was written, without the quotes
  std::string_view value;
};

// Returns the members of an object, in their order; they refer to `text`. Separates values by
// quotes and brackets only: callers still have to parse them. kCorrupt: `text` is no object, or has
// more text behind it.
Result<std::vector<RawMember>> outlineOf(std::string_view text);

// Returns the items of a list, as outlineOf().
Result<std::vector<std::string_view>> itemsOf(std::string_view value);

// Returns the items of a list of strings; they refer to `value` or, for strings with escapes, to
// texts that this adds to `kept`. kCorrupt: `value` is no such list.
Result<std::vector<std::string_view>> textsOf(std::string_view value,
                                              std::deque<std::string>* kept);

}  // namespace divvy::scheduler
