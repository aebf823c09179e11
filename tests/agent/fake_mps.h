// A directory and a process that look like those of an MPS control daemon, for tests of who finds
// one. It serves nobody.
#pragma once

#include <string>

namespace divvy::test {

class FakeMps {
 public:
  // Makes a private directory; nothing runs yet.
  FakeMps();
  ~FakeMps();
  FakeMps(const FakeMps&) = delete;
  FakeMps& operator=(const FakeMps&) = delete;

  const std::string& dir() const { return dir_; }
  int pid() const { return pid_; }

  // Starts a process called `program` and leaves in the directory what a daemon does.
  void start(const std::string& program = "nvidia-cuda-mps-control");
  // The process ends; its directory stays as it is, PID file included.
  void kill();

  void writePidFile(const std::string& text) const;
  std::string pidFile() const { return dir_ + "/nvidia-cuda-mps-control.pid"; }
  std::string control() const { return dir_ + "/control"; }

 private:
  std::string dir_;
  int pid_ = 0;
  int input_ = -1;  // the process lives until this closes
};

}  // namespace divvy::test
