// The `divvy` program.
#pragma once

namespace divvy::cli {

// Commit of the sources. `hash` is empty if unknown; static storage.
struct SourceCommit {
  const char* hash = "";
  // A tracked file differed from the commit.
  bool modified = false;
};

// Runs the command line and returns the exit status: 0 success, 1 failure, 2 wrong usage, 3 a
// negative result (explain, plan, size: does not fit; doctor: a fault). `divvy run` returns its
// command's. May be called once per process. `commit` is for `divvy version`.
int main(int argc, char** argv, const SourceCommit& commit);

}  // namespace divvy::cli
