#include "enforcement/timeslice_probe.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "base/plain_file.h"
#include "log/log.h"

extern char** environ;

namespace divvy::agent {
namespace {

constexpr std::size_t kMaxNote = 1u << 16;

using namespace asio::experimental::awaitable_operators;

constexpr std::chrono::seconds kTrialLimit{10};
constexpr std::string_view kHeld = "held ";      // prefix of the child's answer
constexpr std::string_view kFailed = "failed ";  // permanently
constexpr std::string_view kUnknown = "unknown ";

std::string joined(const std::vector<std::string>& words, char separator) {
  std::string all;
  for (const std::string& word : words)
    all += (all.empty() ? "" : std::string(1, separator)) + word;
  return all;
}

// Our environment with these libraries preloaded first, and without a time slice.
std::vector<std::string> environmentWith(const std::vector<std::string>& preload) {
  std::vector<std::string> variables;
  std::string libraries = joined(preload, ':');
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with("LD_PRELOAD=")) {
      libraries += ":" + std::string(variable.substr(variable.find('=') + 1));
    } else if (!variable.starts_with("DIVVY_TIMESLICE_US=")) {
      variables.emplace_back(variable);
    }
  }
  variables.push_back("LD_PRELOAD=" + libraries);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Returns 0 if it could not be started.
pid_t start(std::vector<std::string> words, std::vector<std::string> environment, int output) {
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  const std::string program = words[0];
  const int fault = posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers(words).data(),
                                pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  return fault == 0 ? pid : 0;
}

// Reads the pipe until its other end closes.
asio::awaitable<std::string> readAll(asio::posix::stream_descriptor& pipe) {
  std::string text;
  std::array<char, 256> chunk{};
  for (;;) {
    auto [fault, got] = co_await pipe.async_read_some(asio::buffer(chunk), kNoThrow);
    text.append(chunk.data(), got);
    if (fault || text.size() > 4096) co_return text;
  }
}

}  // namespace

TimesliceProbe::TimesliceProbe(asio::io_context& loop, const Node& node, const NodePaths& paths,
                               const InstallLayout& install, const Inventory& inventory)
    : loop_(loop),
      inventory_(inventory),
      executable_(install.executable),
      file_(paths.timesliceTrial()),
      preload_{install.lib_dir + "/libdivvy-timeslice.so"},
      tried_(loop) {
  if (node.simulated()) preload_.push_back(install.sim_dir + "/libsimgpu-rm.so");
  tried_.expires_at(asio::steady_timer::time_point::max());
}

asio::awaitable<void> TimesliceProbe::settle() {
  while (stage_ == Stage::kTrying) co_await tried_.async_wait(kNoThrow);
  if (stage_ == Stage::kUntried) load();
  if (stage_ != Stage::kUntried) co_return;
  stage_ = Stage::kTrying;
  judge(co_await ask());
  if (stage_ == Stage::kTried) save();
  tried_.cancel();
}

// A result that is not permanent is tried again for the next caller.
void TimesliceProbe::judge(const std::string& answer) {
  const bool held = answer.starts_with(kHeld);
  const bool failed = answer.starts_with(kFailed);
  stage_ = held || failed ? Stage::kTried : Stage::kUntried;
  missing_ = "time slices were tried and are not used: ";
  if (failed) missing_ += answer.substr(kFailed.size());
  if (!failed)
    missing_ += answer.starts_with(kUnknown) ? answer.substr(kUnknown.size()) : "no answer came";
  if (held) missing_.clear();
  log::info(held ? "time slices hold" : "time slices are not used",
            {{"reason", held ? answer.substr(kHeld.size()) : missing_}});
}

// The child's first line; empty: none arrived in time.
asio::awaitable<std::string> TimesliceProbe::ask() {
  for (const std::string& library : preload_) {
    if (access(library.c_str(), R_OK) != 0)
      co_return std::string(kUnknown) + library + " cannot be read";
  }
  const auto& devices = inventory_.devices();
  const auto ours = std::find_if(devices.begin(), devices.end(),
                                 [](const Device& device) { return !device.excluded; });
  if (ours == devices.end()) co_return std::string(kUnknown) + "all devices are excluded";
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) co_return "";
  asio::posix::stream_descriptor pipe(loop_, ends[0]);
  Fd write_end(ends[1]);
  const std::string cuda = inventory_.cudaPath().empty() ? "libcuda.so.1" : inventory_.cudaPath();
  const pid_t pid =
      start({executable_, "probe-timeslice", "--cuda", cuda, "--uuid", ours->info.uuid},
            environmentWith(preload_), write_end.get());
  write_end.reset();
  if (pid == 0) co_return "";
  asio::steady_timer limit(loop_, kTrialLimit);
  std::variant<std::string, std::tuple<error_code>> first =
      co_await (readAll(pipe) || limit.async_wait(kNoThrow));
  kill(pid, SIGKILL);  // our own child, not yet reaped: no other process can have the PID
  waitpid(pid, nullptr, 0);
  const std::string* text = std::get_if<std::string>(&first);
  const std::size_t end = text == nullptr ? std::string::npos : text->find('\n');
  co_return end == std::string::npos ? "" : text->substr(0, end);
}

void TimesliceProbe::load() {
  const Result<std::string> text = readPlainFile(file_, kMaxNote);
  std::istringstream file(text ? *text : std::string());
  std::string driver;
  std::string preload;
  std::string answer;
  const bool whole = std::getline(file, driver) && std::getline(file, preload) &&
                     std::getline(file, answer) && !file.eof();
  if (!whole || driver != inventory_.driverVersion() || preload != joined(preload_, ':')) return;
  stage_ = Stage::kTried;
  missing_ = answer;
}

// Best effort, written completely or not at all: a lost file costs one more trial.
void TimesliceProbe::save() const {
  const std::string temporary = file_ + ".new";
  std::ofstream file(temporary);
  file << inventory_.driverVersion() << '\n' << joined(preload_, ':') << '\n' << missing_ << '\n';
  file.close();
  if (!file || std::rename(temporary.c_str(), file_.c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace divvy::agent
