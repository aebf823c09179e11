// The `divvy` program.
#pragma once

namespace divvy::cli {

// The commit of the sources. `hash` is empty where it is not known; static storage.
struct SourceCommit {
  const char* hash = "";
  // A tracked file differed from the commit.
  bool modified = false;
};

// Parses the command line, does what it says and returns the exit status: 0 success, 1 failure,
// 2 wrong usage, 3 the answer is no (size: it does not fit; doctor: a fault); `divvy run` passes
// its command's on. May be called once per process. `commit` is what `divvy version` names.
int main(int argc, char** argv, const SourceCommit& commit);

}  // namespace divvy::cli
