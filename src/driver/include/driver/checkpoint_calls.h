// The driver's calls that take other processes off their cards and bring them back, made by a
// process of its own (`divvy probe-checkpoint`) at the word of an agent: a call that hangs, hangs
// there.
//
// One line asks, one answers; both are words with spaces between them.
//
//   state PID | lock PID TIMEOUT_MS | checkpoint PID | restore PID | unlock PID
//   done [running|locked|away|failed|busy] | not-ready | refused WHY | no-memory | lost | gone
#pragma once

#include <string>
#include <string_view>

#include "abi/cuda_enums.h"

namespace divvy::driver {

// Reads lines from `in` and answers on `out` until the former ends. Whoever asked for a lock and is
// gone when it is there, has it undone. Ignores SIGTERM, SIGINT and SIGPIPE; only one call is under
// way at a time. The result is an exit status.
int serveCheckpoints(const std::string& cuda, int in, int out);

// What a call's status means: everything but `refused` and `not-ready` is an answer to `verb`
// alone.
std::string checkpointAnswer(std::string_view verb, CUresult status);
std::string_view processStateWord(int state);

}  // namespace divvy::driver
