// Runs a forked child up to any chosen instruction of an operation, by ptrace.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace divvy::ledger {

// What a child does: prepare at full speed, then the operation that is cut into instructions.
struct Steps {
  std::function<void()> prepare;
  std::function<void()> operation;
};

// nullptr where single-stepping works, else why it does not (sandbox, machine, sanitizer).
const char* whyNoStepping();

// A child stopped somewhere in its operation. Killed and reaped at the end of its life.
class Stepped {
 public:
  explicit Stepped(const Steps& steps);  // stops before the operation's first instruction
  ~Stepped();
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  pid_t pid() const { return pid_; }
  std::uintptr_t instruction() const;  // address of the next one
  // Executes one instruction. False when the operation was over already.
  bool step();
  // Runs until `address` is reached for the `times`-th time. False when the operation ended first.
  bool runTo(std::uintptr_t address, std::size_t times);
  // Runs to the end of the operation; the child stays alive.
  void finish() { finishWithSignal(0); }
  // The same, with a signal delivered first (0: none).
  void finishWithSignal(int signal);
  // SIGKILL, and waits until the process is gone.
  void kill();

 private:
  bool waitTrap();

  pid_t pid_ = -1;
  bool ended_ = false;
};

// The addresses of all instructions that the operation executes, in order.
std::vector<std::uintptr_t> traceOf(const Steps& steps);

// Moves a fresh child to its k-th instruction the quickest way: a breakpoint where few passes reach
// a place near before it, single steps for the rest.
void runToStep(Stepped& child, const std::vector<std::uintptr_t>& trace, std::size_t k);

}  // namespace divvy::ledger
