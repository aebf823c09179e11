// Names that users type, and similar known names. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace divvy::sizing {

// Returns the text in lower case (ASCII), with '-' in place of '_' and ' '.
std::string plainName(std::string_view text);

// Returns at most three of `names` that are similar to `text`, the nearest first. Only the first 64
// characters of `text` count.
std::vector<std::string> nearNames(std::string_view text, const std::vector<std::string>& names);

// Returns "a, b, c".
std::string listed(const std::vector<std::string>& words);

}  // namespace divvy::sizing
