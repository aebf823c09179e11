// Words for people: examples under each --help, the version.
#pragma once

#include <string>

#include "cli/cli.h"

namespace divvy::cli {

// The examples of a subcommand ("" = of the program); empty when it has none.
std::string examplesOf(const std::string& subcommand);

// "divvy 0.1.0", or "divvy 0.1.0 (commit 0123456789ab)", with ", modified" behind the commit.
std::string versionLine();

// The same as JSON; `commit` is the full hash, and absent if it is not known.
std::string versionJson();

// The commit that both name from now on. Called before either, by one thread.
void setSourceCommit(const SourceCommit& commit);

}  // namespace divvy::cli
