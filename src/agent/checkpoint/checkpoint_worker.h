// A child process that makes the driver's checkpoint calls (driver/checkpoint_calls.h): a call that
// hangs does not hang the agent. Private.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint_state_machine.h"
#include "os/asio.h"

namespace divvy::agent {

struct CheckpointReply {
  CheckpointAnswer answer = CheckpointAnswer::kRefused;
  DriverState state = DriverState::kUnknown;
  std::string why;  // of a refusal
};

// The line that requests a step, and the contents of its reply. An unknown word is a refusal that
// names it.
std::string checkpointLine(const CheckpointStep& step);
CheckpointReply readCheckpointReply(std::string_view line);

class CheckpointWorker {
 public:
  CheckpointWorker(asio::io_context& loop, std::string executable, std::string cuda);
  // The child ends by itself, after its present call. It is never killed: a process that it locked
  // or copies would stay so for good.
  ~CheckpointWorker();
  CheckpointWorker(const CheckpointWorker&) = delete;
  CheckpointWorker& operator=(const CheckpointWorker&) = delete;

  // Makes one call at a time. kSilent after the step's limit: that child is abandoned, and the next
  // call uses a new child.
  asio::awaitable<CheckpointReply> ask(CheckpointStep step);

 private:
  struct Child;

  bool start();

  asio::io_context& loop_;
  const std::string executable_;
  const std::string cuda_;
  std::unique_ptr<Child> child_;
};

}  // namespace divvy::agent
