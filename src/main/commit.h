// The commit that this program is built from, written by cmake/commit.py at each build.
#pragma once

#include "cli/cli.h"

namespace divvy {

extern const cli::SourceCommit kSourceCommit;

}  // namespace divvy
