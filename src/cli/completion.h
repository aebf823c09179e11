// Completion scripts, made from the grammar itself.
#pragma once

#include <string>

#include "options.h"

namespace CLI {
class App;
}

namespace divvy::cli {

// The script for bash, zsh or fish, to be printed; kUsage for another shell.
Result<Options> completionScript(const CLI::App& app, const std::string& shell);

}  // namespace divvy::cli
