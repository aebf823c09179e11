// Messages on standard error.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::cli {

// Prints "divvy: MESSAGE". Returns the exit status for the error: 2 for kUsage, otherwise 1.
int fail(const Error& error);

// Prints each line of an agent's note as "divvy: LINE".
void printNote(const std::string& note);

}  // namespace divvy::cli
