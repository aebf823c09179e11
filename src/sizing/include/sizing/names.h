// Names that people type, and what they may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace divvy::sizing {

// Lower case, '_' and ' ' as '-'.
std::string plainName(std::string_view text);

// At most three of `names` that look like `text`, the nearest first; none where nothing does.
std::vector<std::string> nearNames(std::string_view text, const std::vector<std::string>& names);

// "a, b, c".
std::string listed(const std::vector<std::string>& words);

}  // namespace divvy::sizing
