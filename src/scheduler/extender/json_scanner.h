// Where the values of a JSON object's members are in its text: what is large is read straight from
// there, without making objects of it. Pure. Private.
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

// In their order. Values are told apart by quotes and brackets only: they still have to be read.
// kCorrupt: there is no such object, or something is behind it.
Result<std::vector<RawMember>> outlineOf(std::string_view text);

// Likewise of the items of a list.
Result<std::vector<std::string_view>> itemsOf(std::string_view value);

// A list of texts. What cannot be taken as it was written is put into `kept`. kCorrupt: it is none.
Result<std::vector<std::string_view>> textsOf(std::string_view value,
                                              std::deque<std::string>* kept);

}  // namespace divvy::scheduler
