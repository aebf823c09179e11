// The processes of this node, by the numbers that its kernel calls them by. A program sees those of
// its own pid namespace; one that sits below the node's has somebody there look for it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace divvy {

// Who is at the other end of a socket, by the kernel's word. Source: unix(7), SO_PEERCRED.
struct Peer {
  int pid = 0;  // 0: it cannot be told now
  unsigned uid = 0;
  friend bool operator==(const Peer&, const Peer&) = default;
};

// Any thread.
class Processes {
 public:
  virtual ~Processes() = default;

  // What stands for /proc: a path that other threads of this process may open, too.
  virtual std::string folder() const = 0;
  // A pidfd. Invalid, with errno: ESRCH where there is none, else it cannot be told.
  virtual Fd open(int pid) const = 0;
  // kUnavailable: it is no such socket.
  virtual Result<Peer> peer(int connection) const = 0;
  // This process' own number.
  virtual int self() const = 0;
  // Whether they are seen directly: read and signalled with this user's rights.
  virtual bool direct() const = 0;
};

// Those of this program's own namespace, unless it was told of others.
const Processes& processes();
// Once, before anybody asks. They live as long as the program does.
void useProcesses(std::unique_ptr<Processes> others);

// /proc/PID/NAME of the node; the folder itself with an empty name.
std::string procPath(int pid, std::string_view name);
// False only where there certainly is no such process.
bool mayLive(int pid);

}  // namespace divvy
