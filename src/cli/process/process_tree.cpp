#include "process/process_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/fd.h"

namespace divvy::cli {
namespace {

// SIGTTIN and SIGTTOU keep their default: they reach the whole process group and stop this process
// with it.
constexpr std::array kPassed{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1,   SIGUSR2,
                             SIGALRM, SIGTSTP, SIGCONT, SIGWINCH, SIGVTALRM, SIGPROF};

sigset_t handledSet() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassed) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// There is one mask for the process. It is static, so that the child has it after fork.
sigset_t& startMask() {
  static sigset_t mask;
  return mask;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// After the root has ended: our direct children, which inherited its tree.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
  pid_t pid = 0;
  while (list >> pid) pids.push_back(pid);
  return pids;
}

bool isJobControlStop(int status) {
  const int signal = WSTOPSIG(status);
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

ProcessTree::ProcessTree(Orphans orphans) {
  const sigset_t set = handledSet();
  sigprocmask(SIG_BLOCK, &set, &startMask());
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (orphans == Orphans::kOurs) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ProcessTree::~ProcessTree() {
  if (signals_ >= 0) close(signals_);
  sigprocmask(SIG_SETMASK, &startMask(), nullptr);
}

ProcessTree::ReaperPause::ReaperPause() {
  prctl(PR_GET_CHILD_SUBREAPER, &before_);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}
ProcessTree::ReaperPause::~ReaperPause() {
  prctl(PR_SET_CHILD_SUBREAPER, before_);
}

Result<pid_t> ProcessTree::start(const CommandLaunch& launch) {
  const std::vector<char*> argv = pointers(launch.command);
  const std::vector<char*> environment = pointers(launch.environment);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::kIo, std::string("making a pipe: ") + std::strerror(errno)};
  }
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t pid = fork();
  if (pid < 0)
    return Error{ErrorCode::kIo, std::string("starting the command: ") + std::strerror(errno)};
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, &startMask(), nullptr);
    execvpe(argv[0], argv.data(), environment.data());
    const int fault = errno;
    [[maybe_unused]] const ssize_t written = write(write_end.get(), &fault, sizeof fault);
    _exit(127);
  }
  write_end.reset();
  int fault = 0;
  ssize_t got = 0;
  do {
    got = read(read_end.get(), &fault, sizeof fault);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof fault)) {
    waitpid(pid, nullptr, 0);
    const ErrorCode code = fault == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Error{code, launch.command[0] + ": " + std::strerror(fault)};
  }
  command_ = pid;
  command_lives_ = true;
  return pid;
}

bool ProcessTree::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return false;
    if (pid == 0) return true;
    if (pid != command_ || !command_lives_) continue;
    if (WIFSTOPPED(status)) {
      // The shell watches this process, not the command.
      if (isJobControlStop(status)) kill(getpid(), SIGSTOP);
      continue;
    }
    command_lives_ = false;
    status_ = status;
  }
}

void ProcessTree::pass(int signal) const {
  if (command_lives_) {
    kill(command_, signal);
    return;
  }
  for (const pid_t pid : children()) kill(pid, signal);
}

void ProcessTree::handleSignals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    // The terminal signals the whole foreground group, so the command has the signal already.
    if (info.ssi_code == SI_KERNEL && signal != SIGCONT) continue;
    pass(signal);
  }
}

void ProcessTree::waitForAll(int also_fd, const std::function<int()>& ready) {
  while (reap()) {
    std::array<pollfd, 2> waiting{{{signals_, POLLIN, 0}, {also_fd, POLLIN, 0}}};
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents != 0) handleSignals();
    if (waiting[1].revents != 0) also_fd = ready();
  }
}

void ProcessTree::endLikeCommand() {
  if (WIFSIGNALED(status_)) {
    // The command may have left a core file; a second one, of this process, is useless.
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const int number = WTERMSIG(status_);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    _exit(128 + number);
  }
  _exit(WEXITSTATUS(status_));
}

}  // namespace divvy::cli
