// What the agent and the child that makes the driver's checkpoint calls say to each other.
#include "checkpoint/checkpoint_worker.h"

#include <gtest/gtest.h>

#include "driver/checkpoint_calls.h"

namespace divvy::agent {
namespace {

using Answer = CheckpointAnswer;
using Call = CheckpointCall;
using State = DriverState;

Answer answerTo(std::string_view verb, CUresult status) {
  return readCheckpointReply(driver::checkpointAnswer(verb, status)).answer;
}

TEST(CheckpointWorker, EachCall_IsOneLine) {
  EXPECT_EQ(checkpointLine({Call::kState, 7, {}}), "state 7");
  EXPECT_EQ(checkpointLine({Call::kLock, 7, {}}), "lock 7 2000");
  EXPECT_EQ(checkpointLine({Call::kCheckpoint, 7, {}}), "checkpoint 7");
  EXPECT_EQ(checkpointLine({Call::kRestore, 7, {}}), "restore 7");
  EXPECT_EQ(checkpointLine({Call::kUnlock, 7, {}}), "unlock 7");
}

TEST(CheckpointWorker, CudaResult_MapsToAnswer) {
  for (const char* verb : {"state", "lock", "checkpoint", "restore", "unlock"}) {
    EXPECT_EQ(answerTo(verb, CUDA_SUCCESS), Answer::kDone) << verb;
    EXPECT_EQ(answerTo(verb, CUDA_ERROR_INVALID_VALUE), Answer::kGone) << verb;
    EXPECT_EQ(answerTo(verb, CUDA_ERROR_NOT_SUPPORTED), Answer::kRefused) << verb;
  }
  EXPECT_EQ(answerTo("lock", CUDA_ERROR_NOT_READY), Answer::kNotReady);
  EXPECT_EQ(answerTo("restore", CUDA_ERROR_OUT_OF_MEMORY), Answer::kNoMemory);
  EXPECT_EQ(answerTo("checkpoint", CUDA_ERROR_OUT_OF_MEMORY), Answer::kRefused);
  EXPECT_EQ(answerTo("restore", CUDA_ERROR_OPERATING_SYSTEM), Answer::kLost);
  EXPECT_EQ(answerTo("checkpoint", CUDA_ERROR_OPERATING_SYSTEM), Answer::kLost);
  EXPECT_EQ(answerTo("unlock", CUDA_ERROR_OPERATING_SYSTEM), Answer::kRefused);
}

TEST(CheckpointWorker, EachStateWord_MapsToState) {
  const State states[] = {State::kRunning, State::kLocked, State::kAway,
                          State::kFailed,  State::kBusy,   State::kBusy};
  for (int state = 0; state < 6; ++state) {
    const CheckpointReply reply =
        readCheckpointReply("done " + std::string(driver::processStateWord(state)));
    EXPECT_EQ(reply.answer, Answer::kDone);
    EXPECT_EQ(reply.state, states[state]) << state;
  }
}

TEST(CheckpointWorker, MalformedAnswer_IsRefusalWithText) {
  for (const char* line : {"", "maybe", "done soon", "gone running", "donerunning"}) {
    const CheckpointReply reply = readCheckpointReply(line);
    EXPECT_EQ(reply.answer, Answer::kRefused) << line;
    EXPECT_NE(reply.why.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(readCheckpointReply("refused CUDA error 801").why, "CUDA error 801");
}

}  // namespace
}  // namespace divvy::agent
