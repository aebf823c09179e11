// The process tree of a command: started, signalled, reaped to the last orphan.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::cli {

struct Launch {
  std::vector<std::string> command;      // found on PATH like a shell does
  std::vector<std::string> environment;  // NAME=value, all of it
};

// One tree per process: this process becomes a child subreaper and takes over signal handling.
class Tree {
 public:
  // kOurs: whoever a command leaves behind is waited for, too. kLeft: it is not: of a container the
  // agent knows how long it lives, and a runtime leaves helpers that are not of it.
  enum class Orphans : std::uint8_t { kOurs, kLeft };
  // From here on signals that can be passed on are kept until there is someone to pass them to.
  explicit Tree(Orphans orphans = Orphans::kOurs);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // Starts the command as our child, in our process group, with the signal mask and dispositions we
  // were started with. kNotFound / kIo when it cannot be executed.
  Result<pid_t> start(const Launch& launch);

  // Waits until the last descendant has ended. Signals from other processes are passed to the
  // command (to its orphans once it is gone); those of the terminal reached it already. Stops when
  // the command is stopped by job control. `ready` runs whenever `also_fd` becomes readable (-1:
  // none) and returns the descriptor to watch from then on.
  void waitForAll(int also_fd, const std::function<int()>& ready);

  // Ends this process as the command ended: same exit status, or same signal.
  [[noreturn]] void endLikeCommand();

  // While one of these lives, orphans go to init instead of us: for starting what is not of the
  // tree.
  class Pause {
   public:
    Pause();
    ~Pause();

   private:
    int before_ = 0;
  };

 private:
  void handleSignals();
  void pass(int signal) const;
  // False when no child is left.
  bool reap();

  int signals_ = -1;
  pid_t command_ = -1;
  bool command_lives_ = false;
  int status_ = 0;
};

}  // namespace divvy::cli
