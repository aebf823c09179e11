// Completion scripts, generated from the grammar.
#pragma once

#include <string>
#include <vector>

#include "options/options.h"

namespace CLI {
class App;
}

namespace divvy::cli {

// Returns a script for bash, zsh or fish. kUsage: another shell.
Result<Options> completionScript(const CLI::App& app, const std::string& shell);

// Returns completions, as kubectl asks its plugins; the last of `words` is typed in part. One a
// line, with a description after a tab; ":4" at the end means no file names. Source: kubectl 1.34,
// pkg/cmd/plugin/plugin_completion.go; cobra's ShellCompDirective.
Result<Options> completionFor(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace divvy::cli
