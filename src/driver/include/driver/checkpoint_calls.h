// The driver's calls that checkpoint and restore other processes. A process of its own (`divvy
// probe-checkpoint`) makes them for an agent, so that a call that hangs does not block the agent.
//
// One line is a request and one its answer; words are separated by spaces.
//
//   state PID | lock PID TIMEOUT_MS | checkpoint PID | restore PID | unlock PID
//   done [running|locked|away|failed|busy] | not-ready | refused WHY | no-memory | lost | gone
#pragma once

#include <string>
#include <string_view>

#include "abi/cuda_enums.h"

namespace divvy::driver {

// Reads requests from `in` and writes answers to `out` until `in` ends. If the answer to a lock
// cannot be written, the lock is released. Ignores SIGTERM, SIGINT and SIGPIPE. Makes one call at a
// time. Returns an exit status.
int serveCheckpoints(const std::string& cuda, int in, int out);

// Returns the answer for a call's status. An answer other than `refused` and `not-ready` is valid
// for `verb` only.
std::string checkpointAnswer(std::string_view verb, CUresult status);
std::string_view processStateWord(int state);

}  // namespace divvy::driver
