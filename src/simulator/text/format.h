// Values as JSON has them. Private.
#pragma once

#include <string>
#include <string_view>

namespace divvy::simulator {

// With so many decimals.
std::string number(double value, int decimals = 4);
// In quotes; control characters are left out.
std::string quoted(std::string_view text);

}  // namespace divvy::simulator
