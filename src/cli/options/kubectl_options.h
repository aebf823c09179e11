// kubectl's options to reach a cluster, and its syntax. Private to the grammar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/raw_options.h"

namespace divvy::cli {

struct ConnectionOption {
  const char* names;  // "-s,--server"
  std::string ConnectionText::*text;
  const char* type;
  const char* help;
};
// Options with one value.
std::span<const ConnectionOption> reachOptions();

// Rearranges words for kubectl's plugin: these options may stand before the command, and short ones
// may have '=' before the value.
std::vector<std::string> asKubectl(std::vector<std::string> words);

// Returns whether kubectl has this option, which Divvy has no use for: "--cache-dir", "-v".
bool onlyKubectls(const std::string& option);

}  // namespace divvy::cli
