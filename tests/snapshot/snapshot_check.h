// What has to hold for any bytes: for the fuzzer, and for its corpus in the ordinary tests.
#pragma once

#include <string>
#include <string_view>

namespace divvy::snapshot {

// Empty, or what is wrong with how the reader took `text`. `read`: whether it is a snapshot.
std::string faultOf(std::string_view text, bool* read = nullptr);

}  // namespace divvy::snapshot
