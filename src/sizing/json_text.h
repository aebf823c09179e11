// JSON as Python writes it, with the place of what is wrong. Private.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "base/result.h"

namespace divvy::sizing {

namespace bj = boost::json;

// kCorrupt: "line 3, column 7: not JSON (why)", or longer than `most` bytes.
Result<bj::value> parseText(std::string_view text, std::size_t most);

}  // namespace divvy::sizing
