// A child program and what it printed.
#pragma once

#include <string>
#include <vector>

namespace divvy::bench {

struct Command {
  std::vector<std::string> words;
  std::vector<std::string> environment;  // NAME=VALUE, beside and above this process's own
};

struct CommandResult {
  int status = -1;  // exit status; 128 + signal; -1 could not be started
  std::string output;
};

// Runs to the end; standard error goes where this program's goes.
CommandResult runCommand(const Command& command);

}  // namespace divvy::bench
