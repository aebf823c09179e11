// What has to hold for any bytes: for the fuzzer, and for its corpus in the ordinary tests.
#pragma once

#include <string>
#include <string_view>

namespace divvy::simulator {

// Empty, or what is wrong with how the readers took `text`. `rows`: what both of them read.
std::string faultOfReading(std::string_view text, std::size_t* rows = nullptr);

}  // namespace divvy::simulator
