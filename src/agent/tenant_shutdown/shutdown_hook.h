// A program that the agent runs without a shell: its end, and its output. Private.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "tenant_shutdown/shutdown_state_machine.h"

namespace divvy::agent {

// A process group of its own. It is killed with this object, and gets SIGTERM if the agent dies.
// Main thread only.
class Hook {
 public:
  // Starts `program` without arguments, with exactly this environment. Captures its output.
  static Result<Hook> start(const std::string& program,
                            const std::vector<std::string>& environment);
  Hook(Hook&& other) noexcept;
  Hook& operator=(Hook&& other) noexcept;
  ~Hook();

  // Returns the state without blocking. Output beyond kMaxOutput is read and dropped.
  HookState poll();
  // Kills the program and all processes in its group.
  void kill();

  const std::string& output() const { return output_; }
  // "exit status 3", "killed by signal 9"; empty while it runs.
  const std::string& ending() const { return ending_; }

  static constexpr std::size_t kMaxOutput = 16384;

 private:
  Hook(int pid, Fd output) : pid_(pid), pipe_(std::move(output)) {}
  void readOutput();

  int pid_ = 0;  // 0: ended and reaped
  Fd pipe_;
  HookState state_ = HookState::kRunning;
  std::string output_;
  std::string ending_;
};

}  // namespace divvy::agent
