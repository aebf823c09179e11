#include "agent_client/start_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "agent/install_layout.h"
#include "agent/protocol.h"
#include "base/fd.h"
#include "config/placement_options.h"
#include "options/options.h"

extern char** environ;

namespace divvy::cli {
namespace {

// Measuring contexts takes the agent 10 s at most, and opening a driver takes as long as it takes.
// After this time the start has failed.
constexpr int kStartLimitMs = 20000;
constexpr int kReadyFd = 3;

// The environment of a tenant or a test must not change the agent's view of the devices.
bool stays(std::string_view entry) {
  for (const std::string_view name :
       {"LD_PRELOAD=", "DIVVY_TENANT_DIR=", "DIVVY_MEMORY_LIMIT=", "SIMGPU_FAULTS=",
        "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER="}) {
    if (entry.starts_with(name)) return false;
  }
  return true;
}

struct Command {
  std::vector<std::string> words;
  std::vector<char*> argv;
  std::vector<char*> environment;
};

Command commandFor(const agent::InstallLayout& install, const agent::Node& node) {
  Command command;
  command.words = {install.executable, "agent",       "--node",
                   node.name,          "--idle-exit", std::to_string(kIdleSeconds),
                   "--log-file",       "--ready-fd",  std::to_string(kReadyFd)};
  for (std::string& word : command.words) command.argv.push_back(word.data());
  command.argv.push_back(nullptr);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (stays(*entry)) command.environment.push_back(*entry);
  }
  command.environment.push_back(nullptr);
  return command;
}

// The second child of the double fork: becomes the agent. Async-signal-safe calls only.
[[noreturn]] void becomeAgent(const Command& command, int ready) {
  if (ready != kReadyFd) dup2(ready, kReadyFd);
  fcntl(kReadyFd, F_SETFD, 0);
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  close_range(kReadyFd + 1, ~0u, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCHLD}) signal(number, SIG_DFL);
  [[maybe_unused]] const int changed = chdir("/");
  execve(command.argv[0], command.argv.data(), command.environment.data());
  const char text[] = "io the agent's program cannot be started\n";
  [[maybe_unused]] const ssize_t written = write(kReadyFd, text, sizeof text - 1);
  _exit(1);
}

// The agent's first line: "ok", or the name of an error and its message.
Result<void> awaitReady(int fd) {
  std::string line;
  while (line.find('\n') == std::string::npos) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, kStartLimitMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      return Error{ErrorCode::kUnavailable, "the agent did not start in time; see agent.log"};
    std::array<char, 1024> chunk;
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return Error{ErrorCode::kUnavailable, "the agent ended while starting; see agent.log"};
    line.append(chunk.data(), static_cast<std::size_t>(got));
  }
  line.resize(line.find('\n'));
  if (line == "ok") return {};
  const std::size_t space = line.find(' ');
  return Error{agent::errorFromName(line.substr(0, space)),
               space == std::string::npos ? line : line.substr(space + 1)};
}

}  // namespace

Result<void> startAgent(const agent::Node& node) {
  // Options that the agent would take from this environment, and could only refuse in its log.
  const Result<agent::Oversubscription> memory = parseOversubscription({});
  if (!memory) return memory.error();
  const Result<agent::IdlePolicy> idle = parseIdlePolicy({});
  if (!idle) return idle.error();
  const Result<agent::BypassPolicy> bypass = parseBypassPolicy({});
  if (!bypass) return bypass.error();
  const Result<agent::PlacementOptions> placing = readPlacingTerms("", "");
  if (!placing) return placing.error();
  Result<agent::InstallLayout> install = agent::findInstall();
  if (!install) return install.error();
  const Command command = commandFor(*install, node);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::kIo, std::string("making a pipe: ") + std::strerror(errno)};
  }
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t first = fork();
  if (first < 0)
    return Error{ErrorCode::kIo, std::string("starting the agent: ") + std::strerror(errno)};
  if (first == 0) {
    setsid();
    const pid_t second = fork();
    if (second == 0) becomeAgent(command, write_end.get());
    _exit(second < 0 ? 1 : 0);
  }
  write_end.reset();
  while (waitpid(first, nullptr, 0) < 0 && errno == EINTR) {
  }
  return awaitReady(read_end.get());
}

}  // namespace divvy::cli
