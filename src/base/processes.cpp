#include "base/processes.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace divvy {
namespace {

class OwnProcesses final : public Processes {
 public:
  std::string folder() const override { return "/proc"; }

  Fd open(int pid) const override { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

  Result<Peer> peer(int connection) const override {
    ucred found{};
    socklen_t size = sizeof found;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &found, &size) == 0)
      return Peer{found.pid, found.uid};
    return Error{ErrorCode::kUnavailable,
                 std::string("reading the peer of a socket: ") + std::strerror(errno)};
  }

  int self() const override { return getpid(); }

  bool direct() const override { return true; }
};

std::unique_ptr<Processes>& current() {
  static std::unique_ptr<Processes> all = std::make_unique<OwnProcesses>();
  return all;
}

}  // namespace

const Processes& processes() {
  return *current();
}

void useProcesses(std::unique_ptr<Processes> others) {
  current() = std::move(others);
}

std::string procPath(int pid, std::string_view name) {
  std::string path = processes().folder() + "/" + std::to_string(pid);
  return name.empty() ? path : path + "/" + std::string(name);
}

bool mayLive(int pid) {
  return access(procPath(pid, "").c_str(), F_OK) == 0 || (errno != ENOENT && errno != ESRCH);
}

}  // namespace divvy
