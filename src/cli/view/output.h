// Messages on standard error.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::cli {

// Exit status of a command that did its work and whose result is negative: a request does not fit,
// a check found a fault.
inline constexpr int kNegativeResult = 3;

// Prints "divvy: MESSAGE". Returns the exit status for the error: 2 for kUsage, otherwise 1.
int fail(const Error& error);

// Prints each line of an agent's note as "divvy: LINE".
void printNote(const std::string& note);

}  // namespace divvy::cli
