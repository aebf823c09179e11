// Formats strings and numbers as JSON and text.
#pragma once

#include <string>
#include <string_view>

namespace divvy::cli {

// Returns a JSON string; bytes outside of ASCII stay.
std::string jsonQuoted(std::string_view text);

// Returns a number with that many digits after the point: "14.96".
std::string fixed(double value, int digits);

}  // namespace divvy::cli
