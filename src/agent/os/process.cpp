#include "agent/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/processes.h"

namespace divvy::agent {
namespace {

// Whole text of a /proc file; empty when it cannot be read. Environments are bounded by the kernel
// (a quarter of the stack limit), this bound is only against surprises.
std::string readProc(const std::string& path) {
  constexpr std::size_t kMax = 8u << 20;
  Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> chunk;
  while (file.valid() && text.size() < kMax) {
    const ssize_t got = read(file.get(), chunk.data(), chunk.size());
    if (got <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Calls visit(pid, uid) for every process directory.
template <typename Visit>
void forEachProcess(Visit visit) {
  DIR* proc = opendir(processes().folder().c_str());
  if (proc == nullptr) return;
  while (const dirent* entry = readdir(proc)) {
    int pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [rest, fault] = std::from_chars(entry->d_name, end, pid);
    if (fault != std::errc{} || rest != end) continue;
    struct stat info {};
    if (fstatat(dirfd(proc), entry->d_name, &info, 0) == 0) visit(pid, info.st_uid);
  }
  closedir(proc);
}

// /proc/<pid>/stat from its third field, the state, on; empty when there is no such process.
std::string statOf(int pid) {
  const std::string stat = readProc(procPath(pid, "stat"));
  // The command name may hold anything, parentheses included: fields count from its last ')'.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return {};
  return stat.substr(name_end + 2);
}

// Number `field` of /proc/<pid>/stat, from 4; 0 when there is no such process.
std::uint64_t statField(int pid, int field) {
  const std::string stat = statOf(pid);
  std::size_t at = 0;
  constexpr int kState = 3;
  for (int i = kState; i < field; ++i) {
    at = stat.find(' ', at);
    if (at == std::string::npos) return 0;
    ++at;
  }
  return std::strtoull(stat.c_str() + at, nullptr, 10);
}

constexpr std::string_view kTenantDir = "DIVVY_TENANT_DIR=";

// The value with which the process was started.
std::optional<std::string> tenantDirIn(const std::string& environment) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = std::string_view(environment).substr(at, end - at);
    if (entry.starts_with(kTenantDir)) return std::string(entry.substr(kTenantDir.size()));
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t startTimeOf(int pid) {
  return statField(pid, 22);
}

bool isStopped(int pid) {
  const std::string stat = statOf(pid);
  return !stat.empty() && (stat[0] == 'T' || stat[0] == 't');
}

int parentOf(int pid) {
  return static_cast<int>(statField(pid, 4));
}

Fd openProcess(const ProcessId& id) {
  if (id.pid <= 0 || id.start_time == 0) return Fd();
  Fd pidfd = processes().open(id.pid);
  // Checked after opening: the pidfd pins the process, so the answer cannot go stale.
  if (pidfd.valid() && startTimeOf(id.pid) != id.start_time) pidfd.reset();
  return pidfd;
}

bool hasEnded(int pidfd) {
  pollfd waiting{pidfd, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

std::string tenantDirOf(int pid) {
  return tenantDirIn(readProc(procPath(pid, "environ"))).value_or("");
}

std::vector<ProcessId> processesIn(const std::string& tenant_dir, uid_t uid) {
  std::vector<ProcessId> found;
  forEachProcess([&](int pid, uid_t owner) {
    if (owner != uid || tenantDirOf(pid) != tenant_dir) return;
    const std::uint64_t start_time = startTimeOf(pid);
    if (start_time != 0) found.push_back({pid, start_time});
  });
  return found;
}

std::vector<ProcessId> processesWhere(const std::function<bool(int pid)>& holds) {
  std::vector<ProcessId> found;
  forEachProcess([&](int pid, uid_t) {
    // Read first: if the PID is reused meanwhile, the start time does not match.
    const std::uint64_t start_time = startTimeOf(pid);
    if (start_time != 0 && holds(pid)) found.push_back({pid, start_time});
  });
  return found;
}

std::string userName(uid_t uid) {
  std::array<char, 4096> text;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, text.data(), text.size(), &found) == 0 && found != nullptr)
    return entry.pw_name;
  return std::to_string(uid);
}

}  // namespace divvy::agent
