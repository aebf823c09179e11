// TOML parser without exceptions.
#pragma once

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <string>

#include "base/result.h"

namespace divvy::doctor {

// Parses a text. kCorrupt: "PATH:LINE: what".
Result<toml::table> tomlOf(const std::string& text, const std::string& path);

}  // namespace divvy::doctor
