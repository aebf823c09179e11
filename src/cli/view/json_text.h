// Texts and numbers as JSON and people want them.
#pragma once

#include <string>
#include <string_view>

namespace divvy::cli {

// A JSON text. Bytes that are not ASCII stay as they are.
std::string jsonQuoted(std::string_view text);

// "14.96": so many digits after the point.
std::string fixed(double value, int digits);

}  // namespace divvy::cli
