// This machine's host name.
#pragma once

#include <string>

namespace divvy::cli {

// Empty: unknown.
std::string hostName();

}  // namespace divvy::cli
