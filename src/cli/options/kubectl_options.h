// kubectl's options for reaching a cluster, and words as kubectl takes them. Private to the
// grammar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/raw_options.h"

namespace divvy::cli {

struct ReachOption {
  const char* names;  // "-s,--server"
  std::string ReachText::*text;
  const char* type;
  const char* help;
};
// Those that have one value.
std::span<const ReachOption> reachOptions();

// As kubectl's plugin is called: options of this kind may stand before the command, and of short
// ones '=' may stand before the value.
std::vector<std::string> asKubectl(std::vector<std::string> words);

// Whether kubectl has that option, which nothing here has a use for: "--cache-dir", "-v".
bool onlyKubectls(const std::string& option);

}  // namespace divvy::cli
