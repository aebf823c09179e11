#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
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

// The process' number in its innermost pid namespace; nothing when it is gone.
std::optional<std::uint32_t> innermostPid(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    const std::size_t last = line.find_last_of("\t ");
    std::uint32_t value = 0;
    std::from_chars(line.data() + last + 1, line.data() + line.size(), value);
    return value;
  }
  return std::nullopt;
}

bool matches(std::uint32_t pid, const Owner& owner) {
  const Result<Owner> now = readOwner(pid);
  if (!now) return false;
  if (owner.start != 0 && now->start != 0 && now->start != owner.start) return false;
  return innermostPid(pid) == owner.pid && !hasEnded(pid);
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

std::uint32_t findProcess(const Owner& owner) {
  if (owner.pid == 0) return 0;
  if (matches(owner.pid, owner)) return owner.pid;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    std::uint32_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (matches(pid, owner)) return pid;
  }
  return 0;
}

}  // namespace divvy::ledger
