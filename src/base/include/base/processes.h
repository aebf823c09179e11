// The processes of this node, by their pids in the node's pid namespace. A program sees the
// processes of its own pid namespace. In a nested one, a process of the node's namespace has to
// look them up.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace divvy {

// The process at the other end of a socket, as the kernel reports it. Source: unix(7), SO_PEERCRED.
struct Peer {
  int pid = 0;  // 0: not known now
  unsigned uid = 0;
  friend bool operator==(const Peer&, const Peer&) = default;
};

// Access to the node's processes. All members may be called from any thread.
class Processes {
 public:
  virtual ~Processes() = default;

  // Returns the path of the node's /proc. All threads of this process can open it.
  virtual std::string folder() const = 0;
  // Opens a pidfd, which the caller owns. Returns an invalid one, with errno set, on failure;
  // ESRCH: there is no such process.
  virtual Fd open(int pid) const = 0;
  // Returns the peer of a connected Unix socket. kUnavailable: the kernel does not report one.
  virtual Result<Peer> peer(int connection) const = 0;
  // Returns this process's own pid.
  virtual int self() const = 0;
  // Returns whether this process sees the node's processes directly, so that it can read and signal
  // them with its own user's permissions.
  virtual bool direct() const = 0;
};

// Returns the processes of this program's own pid namespace, unless useProcesses() has replaced
// them. Any thread.
const Processes& processes();
// Replaces the result of processes(). To be called at most once, before the first call of
// processes(). The program keeps the object until it ends.
void useProcesses(std::unique_ptr<Processes> others);

// Returns the path /proc/PID/NAME of the node; the directory /proc/PID if `name` is empty.
std::string procPath(int pid, std::string_view name);
// Returns false only if there certainly is no such process.
bool mayLive(int pid);

}  // namespace divvy
