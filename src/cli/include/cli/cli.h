// The `divvy` program.
#pragma once

namespace divvy::cli {

// Parses the command line, does what it says and returns the exit status: 0 success, 1 failure,
// 2 wrong usage, 3 the answer is no (size: it does not fit; doctor: a fault); `divvy run` passes
// its command's on. May be called once per process.
int main(int argc, char** argv);

}  // namespace divvy::cli
