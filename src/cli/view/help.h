// Texts under --help.
#pragma once

#include <string>

namespace divvy::cli {

// Returns the examples of a subcommand ("": of the program); empty if it has none.
std::string examplesOf(const std::string& subcommand);

}  // namespace divvy::cli
