#include "command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>

extern char** environ;

namespace divvy::bench {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::string nameOf(const std::string& variable) {
  return variable.substr(0, variable.find('='));
}

// Own environment first, minus the names that `own` sets.
std::vector<std::string> mergedEnvironment(const std::vector<std::string>& own) {
  std::vector<std::string> merged = own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const std::string& mine) {
      return nameOf(mine) == nameOf(text);
    });
    if (!replaced) merged.push_back(text);
  }
  return merged;
}

using Clock = std::chrono::steady_clock;
constexpr auto kGrace = std::chrono::seconds(3);
constexpr double kEndSeconds = 30;

// Until the writers are gone or `deadline`: false.
bool readUntil(int file, std::optional<Clock::time_point> deadline, std::string* text) {
  std::array<char, 65536> buffer{};
  for (;;) {
    pollfd ready{file, POLLIN, 0};
    int wait = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      wait = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    const int polled = poll(&ready, 1, wait);
    if (polled == 0) return false;
    if (polled < 0) continue;
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got <= 0) return true;
    text->append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// -1 when it could not be started. `in`: its standard input, or -1 for ours.
pid_t start(const Command& command, int in, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (in >= 0) posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = mergedEnvironment(command.environment);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, words.front().c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -1;
}

// Everything the child writes; one that takes too long is ended, at first politely.
std::string hear(pid_t child, int file, double limit_s) {
  std::string text;
  std::optional<Clock::time_point> deadline;
  if (limit_s > 0) {
    deadline = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(limit_s * 1000));
  }
  if (readUntil(file, deadline, &text)) return text;
  kill(child, SIGTERM);
  if (!readUntil(file, Clock::now() + kGrace, &text)) kill(child, SIGKILL);
  return text;
}

}  // namespace

CommandResult runCommand(const Command& command) {
  CommandResult result;
  int out[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) return result;
  const pid_t child = start(command, -1, out[1]);
  close(out[1]);
  if (child > 0) {
    result.output = hear(child, out[0], command.limit_s);
    int status = 0;
    if (waitpid(child, &status, 0) == child) {
      result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }
  close(out[0]);
  return result;
}

Companion::Companion(const Command& command) {
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe for " + command.words.front());
  }
  child_ = start(command, in[0], out[1]);
  close(in[0]);
  close(out[1]);
  in_ = in[1];
  out_ = out[0];
  pollfd line{out_, POLLIN, 0};
  const int limit_ms = command.limit_s > 0 ? static_cast<int>(command.limit_s * 1000) : -1;
  char byte = 0;
  if (child_ > 0 && poll(&line, 1, limit_ms) == 1 && read(out_, &byte, 1) == 1) return;
  end();
  throw std::runtime_error("never ready: " + command.words.front());
}

Companion::~Companion() {
  end();
}

void Companion::nudge() {
  const char byte = '\n';
  if (write(in_, &byte, 1) != 1) throw std::runtime_error("a program that reads no more");
}

std::string Companion::finish() {
  return end();
}

std::string Companion::end() {
  std::string said;
  if (in_ >= 0) close(in_);
  if (child_ > 0) {
    said = hear(child_, out_, kEndSeconds);
    waitpid(child_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
  child_ = in_ = out_ = -1;
  return said;
}

}  // namespace divvy::bench
