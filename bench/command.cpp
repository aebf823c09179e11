#include "command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

std::string readAll(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

CommandResult runCommand(const Command& command) {
  CommandResult result;
  int out[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) return result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = mergedEnvironment(command.environment);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, words.front().c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  if (failed == 0) {
    result.output = readAll(out[0]);
    int status = 0;
    if (waitpid(child, &status, 0) == child) {
      result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }
  close(out[0]);
  return result;
}

}  // namespace divvy::bench
