#include "device/context_overhead.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "base/plain_file.h"
#include "log/log.h"

extern char** environ;

namespace divvy::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxCosts = 1u << 20;
constexpr std::chrono::seconds kProbeLimit{10};

struct Child {
  std::string uuid;
  pid_t pid = 0;
  Fd answer;
  std::string text;
};

Child start(const ProbeCall& call, const std::string& uuid) {
  Child child{uuid, 0, Fd(), ""};
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return child;
  child.answer = Fd(ends[0]);
  Fd write_end(ends[1]);
  std::array<std::string, 8> words{call.executable, "probe-context", "--cuda", call.cuda,
                                   "--nvml",        call.nvml,       "--uuid", uuid};
  std::array<char*, 9> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  if (posix_spawn(&child.pid, call.executable.c_str(), &actions, nullptr, argv.data(), environ) !=
      0) {
    child.pid = 0;
  }
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

// Reads until the child closes its end or the deadline passes.
void collect(Child& child, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waiting{child.answer.get(), POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return;
    std::array<char, 256> chunk;
    const ssize_t got = read(child.answer.get(), chunk.data(), chunk.size());
    if (got <= 0) return;
    child.text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

ContextCosts loadCosts(const std::string& path, const std::string& driver) {
  ContextCosts costs;
  const Result<std::string> text = readPlainFile(path, kMaxCosts);
  std::istringstream file(text ? *text : std::string());
  std::string line;
  if (!std::getline(file, line) || line != driver) return costs;
  // A line without its end was cut, and its number is not complete.
  while (std::getline(file, line) && !file.eof()) {
    std::istringstream words(line);
    std::string uuid;
    std::uint64_t bytes = 0;
    if (words >> uuid >> bytes && words.eof()) costs[uuid] = {bytes};
  }
  return costs;
}

void saveCosts(const std::string& path, const std::string& driver, const ContextCosts& costs) {
  const std::string temporary = path + ".new";
  std::ofstream file(temporary);
  file << driver << '\n';
  for (const auto& [uuid, bytes] : costs) file << uuid << ' ' << bytes.count << '\n';
  file.close();  // writes buffered bytes
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

ContextCosts probeAll(const ProbeCall& call, const std::vector<std::string>& uuids) {
  std::vector<Child> children;
  for (const std::string& uuid : uuids) children.push_back(start(call, uuid));
  const Clock::time_point deadline = Clock::now() + kProbeLimit;
  ContextCosts costs;
  for (Child& child : children) {
    if (child.pid == 0) continue;
    collect(child, deadline);
    char* end = nullptr;
    const std::uint64_t bytes = std::strtoull(child.text.c_str(), &end, 10);
    const bool answered = end != child.text.c_str() && *end == '\n';
    if (answered) costs[child.uuid] = {bytes};
    kill(child.pid, SIGKILL);  // our own child, not yet reaped: no other process can have the PID
    waitpid(child.pid, nullptr, 0);
    if (!answered)
      log::warn("cannot measure the memory of a context",
                {{"device", child.uuid}, {"error", child.text}});
  }
  return costs;
}

}  // namespace divvy::agent
