#include "fake_mps.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace divvy::test {

FakeMps::FakeMps() {
  std::string name = testing::TempDir() + "fake-mps-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  dir_ = name;
}

FakeMps::~FakeMps() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

void FakeMps::start(const std::string& program) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  ASSERT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
  input_ = in[1];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string name = "/usr/bin/" + program;
  std::array<char*, 2> argv{name.data(), nullptr};
  ASSERT_EQ(posix_spawn(&pid_, "/bin/cat", &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  // A process has no name yet when posix_spawn returns; it has one when it answers.
  char byte = '.';
  ASSERT_EQ(write(input_, &byte, 1), 1);
  ASSERT_EQ(read(out[0], &byte, 1), 1);
  close(out[0]);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  control().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(listener);  // like the real one's, the name outlives it
  writePidFile(std::to_string(pid_));
}

void FakeMps::kill() {
  if (pid_ == 0) return;
  close(input_);
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void FakeMps::writePidFile(const std::string& text) const {
  std::ofstream(pidFile(), std::ios::trunc) << text;
}

}  // namespace divvy::test
