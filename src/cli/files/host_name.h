// What this machine calls itself.
#pragma once

#include <string>

namespace divvy::cli {

// Empty: it does not say.
std::string hostName();

}  // namespace divvy::cli
