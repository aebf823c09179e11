// What has to hold for any bytes: for the fuzzer, and for its corpus in the ordinary tests.
#pragma once

#include <string>
#include <string_view>

namespace divvy::simulator {

// Empty, or what is wrong with how the reader took `text`. `read`: whether it is a scenario.
std::string faultOfScenario(std::string_view text, bool* read = nullptr);

}  // namespace divvy::simulator
