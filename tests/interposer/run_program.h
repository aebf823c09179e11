// Running another program with an environment of its own.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace divvy::interposer::test {

struct ProgramResult {
  int status = -1;  // exit status; 128 + signal when killed
  std::string out;
  std::string err;

  // The rest of the first line "key=rest"; "(no such line)" where there is none.
  std::string answer(const std::string& key) const;
};

// What the program finds in its environment: ours less everything that concerns drivers and
// loaders (DIVVY_*, SIMGPU_*, CUDA_*, LD_*), plus these.
using Environment = std::map<std::string, std::string>;

// Runs to the end, at most `seconds`; killed after that.
ProgramResult runProgram(const std::vector<std::string>& command, const Environment& environment,
                         int seconds = 30);

// A program that runs beside the test until the end of the scope (SIGKILL). Its first line of
// output is awaited before the constructor returns.
class BackgroundProgram {
 public:
  BackgroundProgram(const std::vector<std::string>& command, const Environment& environment);
  ~BackgroundProgram();
  BackgroundProgram(const BackgroundProgram&) = delete;
  BackgroundProgram& operator=(const BackgroundProgram&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& firstLine() const { return first_line_; }
  void kill();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string first_line_;
};

// build/<preset>/<relative>, from the environment that ctest sets.
std::string built(const std::string& relative);

}  // namespace divvy::interposer::test
