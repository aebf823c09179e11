// A child program and what it printed.
#pragma once

#include <string>
#include <vector>

namespace divvy::bench {

struct Command {
  std::vector<std::string> words;
  std::vector<std::string> environment;  // NAME=VALUE, beside and above this process's own
  double limit_s = 0;                    // then it is ended: status 128 + signal; 0: none
};

struct CommandResult {
  int status = -1;  // exit status; 128 + signal; -1 could not be started
  std::string output;
};

// Runs to the end; standard error goes where this program's goes.
CommandResult runCommand(const Command& command);

// A program that is there while others are measured: one that prints a line when it is ready and
// ends when its standard input does. Its limit is for becoming ready.
class Companion {
 public:
  // Returns when it is ready; throws std::runtime_error when it never is.
  explicit Companion(const Command& command);
  ~Companion();  // ends it
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  int pid() const { return child_; }
  // Gives it one more byte to read.
  void nudge();
  // Ends it; what it said since its first byte.
  std::string finish();

 private:
  std::string end();

  int child_ = -1;
  int in_ = -1;   // what it reads
  int out_ = -1;  // what it writes
};

}  // namespace divvy::bench
