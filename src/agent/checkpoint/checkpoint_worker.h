// A child of the agent that makes the driver's checkpoint calls (driver/checkpoint_calls.h): one
// that hangs there does not hang the agent. Private.
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

// The line that asks for a step, and what the answer to it says. Words that are not known are a
// refusal that names them.
std::string checkpointLine(const CheckpointStep& step);
CheckpointReply readCheckpointReply(std::string_view line);

class CheckpointWorker {
 public:
  CheckpointWorker(asio::io_context& loop, std::string executable, std::string cuda);
  // The child ends by itself, after the call that it may be in. It is never killed: whom it locked,
  // or is copying, would stay so for good.
  ~CheckpointWorker();
  CheckpointWorker(const CheckpointWorker&) = delete;
  CheckpointWorker& operator=(const CheckpointWorker&) = delete;

  // One at a time. kSilent after the step's limit: then the child is left to itself, and the next
  // call is another one's.
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
