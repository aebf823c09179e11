// What must hold of any text that is read as a configuration: for the fuzzer, and for its corpus.
#pragma once

#include <string>
#include <string_view>

namespace divvy::sizing {

// Empty, or what does not hold.
std::string checkConfig(std::string_view text);

}  // namespace divvy::sizing
