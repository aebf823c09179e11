#include "enforcement/mps_daemon.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

#include "base/fd.h"

namespace divvy::agent {
namespace {

// Names and paths are from NVIDIA's MPS documentation and from a running daemon of driver 580.
constexpr const char* kDefaultDir = "/tmp/nvidia-mps";
constexpr std::string_view kDaemon = "nvidia-cuda-mps-control";

// The first bytes of a regular file; empty if it is none. Does not block on any kind of file.
std::string headOf(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  std::array<char, 256> text{};
  const ssize_t got = read(file.get(), text.data(), text.size());
  return got <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(got));
}

int pidIn(const std::string& text) {
  int pid = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return fault == std::errc{} && pid > 0 ? pid : 0;
}

bool isDaemonOf(int pid, uid_t user) {
  const std::string proc = "/proc/" + std::to_string(pid);
  struct stat info {};
  if (stat(proc.c_str(), &info) != 0 || (info.st_uid != user && info.st_uid != 0)) return false;
  const std::string command = headOf(proc + "/cmdline");
  const std::string_view program(command.c_str());
  return program.substr(program.rfind('/') + 1) == kDaemon;
}

}  // namespace

MpsDaemon findMpsDaemon(const std::string& dir, uid_t user) {
  MpsDaemon daemon{dir.empty() ? kDefaultDir : dir, 0, ""};
  struct stat info {};
  const bool there = daemon.dir[0] == '/' && stat((daemon.dir + "/control").c_str(), &info) == 0 &&
                     (S_ISSOCK(info.st_mode) || S_ISFIFO(info.st_mode));
  if (there) daemon.pid = pidIn(headOf(daemon.dir + "/" + std::string(kDaemon) + ".pid"));
  if (daemon.pid != 0 && isDaemonOf(daemon.pid, user)) return daemon;
  daemon.missing = "no MPS daemon of your user or root runs at " + daemon.dir +
                   " (nvidia-cuda-mps-control -d starts one)";
  daemon.pid = 0;
  return daemon;
}

}  // namespace divvy::agent
