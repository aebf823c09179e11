#include "run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

extern char** environ;

namespace divvy::interposer::test {
namespace {

bool concernsDrivers(const std::string& entry) {
  for (const char* prefix : {"DIVVY_", "SIMGPU_", "CUDA_", "LD_"}) {
    if (entry.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

pid_t spawn(const std::vector<std::string>& command, const Environment& environment, int out,
            int err) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!concernsDrivers(*entry)) entries.push_back(*entry);
  }
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  std::vector<char*> envp;
  for (std::string& entry : entries) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  ::posix_spawn_file_actions_adddup2(&actions, err, 2);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) ADD_FAILURE() << "cannot start " << command[0] << ": " << ::strerror(error);
  return error == 0 ? pid : -1;
}

// Reads both until both end or the time is over; false then.
bool drain(int (&ends)[2], std::string* (&texts)[2], std::chrono::steady_clock::time_point until) {
  pollfd polls[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
  while (polls[0].fd >= 0 || polls[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(polls, 2, static_cast<int>(left.count())) == 0) return false;
    for (int i = 0; i < 2; ++i) {
      if (polls[i].fd < 0 || polls[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(polls[i].fd, buffer, sizeof buffer);
      if (got > 0) texts[i]->append(buffer, static_cast<size_t>(got));
      if (got <= 0) polls[i].fd = -1;
    }
  }
  return true;
}

}  // namespace

std::string ProgramResult::answer(const std::string& key) const {
  const std::string text = "\n" + out;
  const size_t at = text.find("\n" + key + "=");
  if (at == std::string::npos) return "(no such line)";
  const size_t start = at + key.size() + 2;
  return text.substr(start, text.find('\n', start) - start);
}

ProgramResult runProgram(const std::vector<std::string>& command, const Environment& environment,
                         int seconds) {
  ProgramResult result;
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "pipe";
    return result;
  }
  const pid_t pid = spawn(command, environment, out[1], err[1]);
  ::close(out[1]);
  ::close(err[1]);
  int ends[2] = {out[0], err[0]};
  std::string* texts[2] = {&result.out, &result.err};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  if (pid > 0 && !drain(ends, texts, until)) {
    ADD_FAILURE() << command[0] << " did not end within " << seconds << " s; so far:\n"
                  << result.out << result.err;
    ::kill(pid, SIGKILL);
  }
  ::close(out[0]);
  ::close(err[0]);
  int status = 0;
  if (pid > 0 && ::waitpid(pid, &status, 0) == pid) {
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return result;
}

BackgroundProgram::BackgroundProgram(const std::vector<std::string>& command,
                                     const Environment& environment) {
  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "pipe";
    return;
  }
  pid_ = spawn(command, environment, out[1], 2);
  ::close(out[1]);
  output_ = out[0];
  char c;
  while (pid_ > 0 && ::read(output_, &c, 1) == 1 && c != '\n') first_line_.push_back(c);
}

BackgroundProgram::~BackgroundProgram() {
  kill();
  if (output_ >= 0) ::close(output_);
}

void BackgroundProgram::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string built(const std::string& relative) {
  const char* build = ::getenv("DIVVY_BUILD_DIR");
  EXPECT_NE(build, nullptr) << "run this through ctest";
  return std::string(build == nullptr ? "." : build) + "/" + relative;
}

}  // namespace divvy::interposer::test
