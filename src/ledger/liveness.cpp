#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string>

#include "ledger/tenant_ledger.h"
#include "proc_self.h"

namespace divvy::ledger {
namespace {

constexpr long kSysPidfdOpen = 434;

// A leader that ended before its threads is a zombie in /proc but not to its pidfd.
bool hasEnded(std::uint32_t pid) {
  const int fd = static_cast<int>(syscall(kSysPidfdOpen, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd poller{fd, POLLIN, 0};
  const bool ended = poll(&poller, 1, 0) == 1;
  close(fd);
  return ended;
}

}  // namespace

Result<Owner> readOwner(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat", std::ios::binary);
  std::array<char, 1024> text{};
  file.read(text.data(), text.size());
  if (file.gcount() <= 0) {
    return Error(ErrorCode::kNotFound, "no process " + std::to_string(pid));
  }
  const std::uint64_t start = parseStartTime(text.data(), static_cast<std::size_t>(file.gcount()));
  return unpackOwner(packOwner({pid, start}));
}

bool ownerAlive(const Owner& owner) {
  if (owner.pid == 0) return false;
  const Result<Owner> now = readOwner(owner.pid);
  if (!now) return false;
  if (owner.start != 0 && now->start != 0 && now->start != owner.start) return false;
  return !hasEnded(owner.pid);
}

}  // namespace divvy::ledger
