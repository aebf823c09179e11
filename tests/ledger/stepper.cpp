#include "stepper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace divvy::ledger {
namespace {

#if defined(__x86_64__)
void mark() {
  asm volatile("int3" ::: "memory");
}
constexpr long kBreakpoint = 0xcc;
constexpr long kBreakpointMask = 0xff;
#endif

[[noreturn]] void die(const char* what) {
  perror(what);
  std::abort();
}

long request(int what, pid_t pid, std::uintptr_t address, long data) {
  errno = 0;
  const long got = ptrace(static_cast<__ptrace_request>(what), pid,
                          reinterpret_cast<void*>(address), reinterpret_cast<void*>(data));
  if (got == -1 && errno != 0) die("ptrace");
  return got;
}

}  // namespace

const char* whyNoStepping() {
#if !defined(__x86_64__)
  return "the stepper knows x86-64 only";
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "a sanitizer's own instructions outnumber ours by far";
#else
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return "ptrace is not allowed here";
  ::kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return nullptr;
#endif
}

#if defined(__x86_64__)

Stepped::Stepped(const Steps& steps) {
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    steps.prepare();
    mark();
    steps.operation();
    mark();
    for (;;) pause();
  }
  if (!waitTrap()) die("child did not reach its operation");
}

Stepped::~Stepped() {
  kill();
}

bool Stepped::waitTrap() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
    return false;
  }
  return true;
}

std::uintptr_t Stepped::instruction() const {
  return static_cast<std::uintptr_t>(request(PTRACE_PEEKUSER, pid_, offsetof(user, regs.rip), 0));
}

bool Stepped::step() {
  if (ended_) return false;
  request(PTRACE_SINGLESTEP, pid_, 0, 0);
  if (!waitTrap()) die("child stopped for another reason");
  siginfo_t info;
  request(PTRACE_GETSIGINFO, pid_, 0, reinterpret_cast<long>(&info));
  ended_ = info.si_code == SI_KERNEL;  // an int3, and the only one ahead is the second mark
  return !ended_;
}

bool Stepped::runTo(std::uintptr_t address, std::size_t times) {
  const long original = request(PTRACE_PEEKTEXT, pid_, address, 0);
  for (;;) {
    if (instruction() != address) {
      request(PTRACE_POKETEXT, pid_, address, (original & ~kBreakpointMask) | kBreakpoint);
      request(PTRACE_CONT, pid_, 0, 0);
      if (!waitTrap()) die("child stopped for another reason");
      request(PTRACE_POKETEXT, pid_, address, original);
      if (instruction() != address + 1) {
        ended_ = true;
        return false;
      }
      request(PTRACE_POKEUSER, pid_, offsetof(user, regs.rip), static_cast<long>(address));
    }
    if (--times == 0) return true;
    if (!step()) return false;
  }
}

void Stepped::finishWithSignal(int signal) {
  if (ended_) return;
  request(PTRACE_CONT, pid_, 0, signal);
  if (!waitTrap()) die("child died in its operation");
  ended_ = true;
}

void Stepped::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
}

#else

Stepped::Stepped(const Steps&) {
  die("not on this machine");
}
Stepped::~Stepped() = default;
std::uintptr_t Stepped::instruction() const {
  return 0;
}
bool Stepped::step() {
  return false;
}
bool Stepped::runTo(std::uintptr_t, std::size_t) {
  return false;
}
void Stepped::finishWithSignal(int) {}
void Stepped::kill() {}

#endif

std::vector<std::uintptr_t> traceOf(const Steps& steps) {
  Stepped child(steps);
  std::vector<std::uintptr_t> trace;
  do {
    trace.push_back(child.instruction());
  } while (child.step());
  return trace;
}

void runToStep(Stepped& child, const std::vector<std::uintptr_t>& trace, std::size_t k) {
  // A breakpoint pass costs about as much as two single steps.
  std::unordered_map<std::uintptr_t, std::size_t> passes;
  std::size_t best = 0;
  std::size_t best_passes = 0;
  std::size_t best_cost = k;
  for (std::size_t j = 0; j <= k; ++j) {
    const std::size_t count = ++passes[trace[j]];
    const std::size_t cost = 2 * count + 2 + (k - j);
    if (cost < best_cost) {
      best = j;
      best_passes = count;
      best_cost = cost;
    }
  }
  std::size_t at = 0;
  if (best_passes != 0 && child.runTo(trace[best], best_passes)) at = best;
  while (at < k && child.step()) ++at;
}

}  // namespace divvy::ledger
