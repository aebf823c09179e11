// Completion scripts, made from the grammar itself.
#pragma once

#include <string>
#include <vector>

#include "options/options.h"

namespace CLI {
class App;
}

namespace divvy::cli {

// The script for bash, zsh or fish, to be printed; kUsage for another shell.
Result<Options> completionScript(const CLI::App& app, const std::string& shell);

// What may come next, as kubectl asks its plugins: the last of `words` is what has been typed of
// it. One a line, with what it means behind a tab; ":4" at the end: no names of files. Source:
// kubectl 1.34, pkg/cmd/plugin/plugin_completion.go; cobra's ShellCompDirective.
Result<Options> completionFor(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace divvy::cli
