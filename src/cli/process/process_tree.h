// The process tree of a command: start, signals, and reaping of all descendants.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::cli {

struct CommandLaunch {
  std::vector<std::string> command;      // found on PATH like a shell does
  std::vector<std::string> environment;  // NAME=value, all of it
};

// One tree per process: this process becomes a child subreaper and takes over signal handling.
class ProcessTree {
 public:
  // kOurs: processes that a command leaves behind are waited for, too. kLeft: they are not. The
  // agent knows how long a container lives, and a runtime leaves helpers that are not part of it.
  enum class Orphans : std::uint8_t { kOurs, kLeft };
  // From here on signals that can be passed on are held until the command runs.
  explicit ProcessTree(Orphans orphans = Orphans::kOurs);
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  // Starts the command as a child in our process group, with the signal mask and dispositions that
  // this process was started with. kNotFound, kIo: it cannot be executed.
  Result<pid_t> start(const CommandLaunch& launch);

  // Waits until the last descendant has ended. Passes signals from other processes to the command,
  // or to its orphans after its end. Signals of the terminal reach it anyway. Stops with the
  // command under job control. `ready` is called whenever `also_fd` is readable (-1: none), and
  // returns the descriptor to watch from then on.
  void waitForAll(int also_fd, const std::function<int()>& ready);

  // Ends this process as the command ended: with its exit status or signal.
  [[noreturn]] void endLikeCommand();

  // While it exists, orphans go to init: for starting processes outside the tree.
  class ReaperPause {
   public:
    ReaperPause();
    ~ReaperPause();

   private:
    int before_ = 0;
  };

 private:
  void handleSignals();
  void pass(int signal) const;
  // Returns false if no child is left.
  bool reap();

  int signals_ = -1;
  pid_t command_ = -1;
  bool command_lives_ = false;
  int status_ = 0;
};

}  // namespace divvy::cli
