#include "ledger/liveness.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "base/processes.h"
#include "process/proc_self.h"

namespace divvy::ledger {
namespace {

// kNo only if it is certain: a lack of descriptors does not mean that a process is dead.
enum class Answer { kYes, kNo, kCannotTell };

Answer fromErrno(int code) {
  return code == ENOENT || code == ESRCH || code == ENOTDIR ? Answer::kNo : Answer::kCannotTell;
}

struct ProcFile {
  Answer readable = Answer::kCannotTell;
  std::string bytes;
};

ProcFile readProc(std::uint32_t pid, const char* name) {
  ProcFile text;
  const std::string path = procPath(static_cast<int>(pid), name);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    text.readable = fromErrno(errno);
    return text;
  }
  text.bytes.resize(4096);
  const ssize_t got = read(fd, text.bytes.data(), text.bytes.size());
  text.readable = got > 0 ? Answer::kYes : fromErrno(got < 0 ? errno : ESRCH);
  text.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  close(fd);
  return text;
}

// A leader that ended before its threads is a zombie in /proc, but not through its pidfd.
Answer isAlive(std::uint32_t pid) {
  const Fd fd = processes().open(static_cast<int>(pid));
  if (!fd.valid()) return fromErrno(errno);
  pollfd poller{fd.get(), POLLIN, 0};
  const bool ended = poll(&poller, 1, 0) == 1;
  return ended ? Answer::kNo : Answer::kYes;
}

// The PID in the process's innermost PID namespace; 0 if the text does not have it.
std::uint32_t innermostPid(const std::string& status) {
  constexpr std::string_view kField = "\nNSpid:";
  const std::size_t at = status.find(kField);
  if (at == std::string::npos) return 0;
  const std::size_t end = status.find('\n', at + kField.size());
  const std::size_t first = status.find_last_of("\t ", end) + 1;
  std::uint32_t pid = 0;
  std::from_chars(status.data() + first, status.data() + status.size(), pid);
  return pid;
}

bool mayMatch(std::uint64_t start, const Owner& owner) {
  return owner.start == 0 || start == 0 || start == owner.start;
}

Answer matches(std::uint32_t pid, const Owner& owner) {
  const ProcFile stat = readProc(pid, "stat");
  if (stat.readable != Answer::kYes) return stat.readable;
  const std::uint64_t start = parseStartTime(stat.bytes.data(), stat.bytes.size());
  if (!mayMatch(start, owner)) return Answer::kNo;
  const ProcFile status = readProc(pid, "status");
  if (status.readable != Answer::kYes) return status.readable;
  return innermostPid(status.bytes) == owner.pid ? isAlive(pid) : Answer::kNo;
}

Error cannotTell() {
  return {ErrorCode::kIo, "looking for a process: " + std::generic_category().message(errno)};
}

}  // namespace

Result<Owner> readOwner(std::uint32_t pid) {
  const ProcFile stat = readProc(pid, "stat");
  if (stat.readable == Answer::kNo) {
    return Error(ErrorCode::kNotFound, "no process " + std::to_string(pid));
  }
  if (stat.readable == Answer::kCannotTell) return cannotTell();
  const std::uint64_t start = parseStartTime(stat.bytes.data(), stat.bytes.size());
  return unpackOwner(packOwner({pid, start}));
}

Result<std::uint32_t> findProcess(const Owner& owner, const Eligible& eligible) {
  return ProcessLookup(eligible).find(owner);
}

Result<std::uint32_t> ProcessLookup::find(const Owner& owner) {
  if (owner.pid == 0) return std::uint32_t{0};
  const std::uint64_t word = packOwner(owner);
  if (const auto answer = answers_.find(word); answer != answers_.end()) return answer->second;
  Result<std::uint32_t> found = search(owner);
  if (found) answers_.emplace(word, *found);
  return found;
}

Result<std::uint32_t> ProcessLookup::search(const Owner& owner) {
  const auto matching = [&](std::uint32_t pid) {
    return eligible_ && !eligible_(pid) ? Answer::kNo : matches(pid, owner);
  };
  const Answer direct = matching(owner.pid);
  if (direct == Answer::kYes) return owner.pid;
  bool certain = direct == Answer::kNo;
  if (const Result<void> read = readAll(); !read) return read.error();
  const auto [first, last] = by_inner_.equal_range(owner.pid);
  for (auto at = first; at != last; ++at) {
    if (!mayMatch(at->second.start, owner)) continue;
    const Answer answer = matching(at->second.pid);
    if (answer == Answer::kYes) return at->second.pid;
    certain = certain && answer == Answer::kNo;
  }
  for (const std::uint32_t pid : unread_) {
    if (!certain) break;
    certain = matching(pid) == Answer::kNo;
  }
  if (!certain) return cannotTell();
  return std::uint32_t{0};
}

Result<void> ProcessLookup::readAll() {
  if (read_) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir(processes().folder().c_str()), closedir);
  if (!proc) return cannotTell();
  while (const dirent* entry = readdir(proc.get())) {
    const std::string_view name = entry->d_name;
    std::uint32_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    const ProcFile stat = readProc(pid, "stat");
    const ProcFile status = stat.readable == Answer::kYes ? readProc(pid, "status") : stat;
    if (status.readable == Answer::kCannotTell) unread_.push_back(pid);
    if (status.readable == Answer::kYes)
      by_inner_.insert({innermostPid(status.bytes),
                        {pid, parseStartTime(stat.bytes.data(), stat.bytes.size())}});
  }
  read_ = true;
  return {};
}

bool ownerAlive(const Owner& owner) {
  const Result<std::uint32_t> found = findProcess(owner);
  return !found || *found != 0;
}

}  // namespace divvy::ledger
