// The version of the program, for output.
#pragma once

#include <string>

#include "cli/cli.h"

namespace divvy::cli {

// Returns "divvy 0.1.0", or "divvy 0.1.0 (commit 0123456789ab)", with ", modified" after the
// commit.
std::string versionLine();

// Returns the version as JSON; `commit` is the full hash, and absent if unknown.
std::string versionJson();

// Sets the commit for versionLine() and versionJson(). Called before them, by one thread.
void setSourceCommit(const SourceCommit& commit);

}  // namespace divvy::cli
