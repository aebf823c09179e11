#include "tenant_shutdown/shutdown_hook.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace divvy::agent {
namespace {

constexpr int kDeathMs = 100;

// Async-signal-safe calls only: other threads may hold any lock.
[[noreturn]] void become(const char* program, char* const* argv, char* const* environment,
                         int output, int parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int null = open("/dev/null", O_RDONLY);
  if (getppid() != parent || null < 0) _exit(126);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close_range(3, ~0u, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGCHLD}) signal(number, SIG_DFL);
  if (chdir("/") == 0) execve(program, argv, environment);
  _exit(errno == ENOENT ? 127 : 126);
}

std::vector<char*> pointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Hook> Hook::start(const std::string& program, const std::vector<std::string>& environment) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{ErrorCode::kIo, std::string("making a pipe: ") + std::strerror(errno)};
  Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> words{program};
  std::vector<std::string> variables = environment;
  const std::vector<char*> argv = pointersTo(words);
  const std::vector<char*> envp = pointersTo(variables);
  const int parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error{ErrorCode::kIo, "starting " + program + ": " + std::strerror(errno)};
  if (pid == 0) become(program.c_str(), argv.data(), envp.data(), write_end.get(), parent);
  // parent and child both call it; fails if the child runs another program already
  setpgid(pid, pid);
  return Hook(pid, std::move(read_end));
}

Hook::Hook(Hook&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      pipe_(std::move(other.pipe_)),
      state_(other.state_),
      output_(std::move(other.output_)),
      ending_(std::move(other.ending_)) {}

Hook& Hook::operator=(Hook&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pipe_, other.pipe_);
  std::swap(state_, other.state_);
  std::swap(output_, other.output_);
  std::swap(ending_, other.ending_);
  return *this;
}

Hook::~Hook() {
  kill();
}

void Hook::readOutput() {
  std::array<char, 4096> chunk;
  // Bounded: a program that writes without end is read again at the next look.
  for (unsigned i = 0; i < 64 && pipe_.valid(); ++i) {
    const ssize_t got = read(pipe_.get(), chunk.data(), chunk.size());
    if (got <= 0) break;
    const std::size_t room = kMaxOutput - std::min(output_.size(), kMaxOutput);
    output_.append(chunk.data(), std::min(room, static_cast<std::size_t>(got)));
  }
}

HookState Hook::poll() {
  readOutput();
  int status = 0;
  if (pid_ == 0 || waitpid(pid_, &status, WNOHANG) != pid_) return state_;
  pid_ = 0;
  readOutput();
  const bool exited = WIFEXITED(status);
  ending_ = exited ? "exit status " + std::to_string(WEXITSTATUS(status))
                   : "killed by signal " + std::to_string(WTERMSIG(status));
  state_ = exited && WEXITSTATUS(status) == 0 ? HookState::kSucceeded : HookState::kFailed;
  return state_;
}

void Hook::kill() {
  if (pid_ == 0) return;
  const Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  // A process that is stuck in the kernel is left to its new parent.
  pollfd ended{pidfd.get(), POLLIN, 0};
  ::poll(&ended, 1, kDeathMs);
  waitpid(pid_, nullptr, WNOHANG);
  pid_ = 0;
  state_ = HookState::kFailed;
  ending_ = "killed at the deadline";
}

}  // namespace divvy::agent
