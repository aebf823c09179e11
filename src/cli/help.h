// Words for people: examples under each --help, the version.
#pragma once

#include <string>

namespace divvy::cli {

// The examples of a subcommand ("" = of the program); empty when it has none.
std::string examplesOf(const std::string& subcommand);

// "divvy 0.1.0"
std::string versionLine();

}  // namespace divvy::cli
