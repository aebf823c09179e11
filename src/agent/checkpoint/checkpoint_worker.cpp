#include "checkpoint/checkpoint_worker.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/fd.h"
#include "log/log.h"

extern char** environ;

namespace divvy::agent {
namespace {

using namespace asio::experimental::awaitable_operators;

constexpr std::size_t kMaxReplyLine = 4096;

constexpr std::array<std::pair<std::string_view, CheckpointAnswer>, 6> kAnswers{{
    {"done", CheckpointAnswer::kDone},
    {"not-ready", CheckpointAnswer::kNotReady},
    {"refused", CheckpointAnswer::kRefused},
    {"no-memory", CheckpointAnswer::kNoMemory},
    {"lost", CheckpointAnswer::kLost},
    {"gone", CheckpointAnswer::kGone},
}};
constexpr std::array<std::pair<std::string_view, DriverState>, 5> kStates{{
    {"running", DriverState::kRunning},
    {"locked", DriverState::kLocked},
    {"away", DriverState::kAway},
    {"failed", DriverState::kFailed},
    {"busy", DriverState::kBusy},
}};

template <typename Table>
auto named(const Table& table, std::string_view word) {
  std::optional<typename Table::value_type::second_type> found;
  for (const auto& [name, value] : table)
    if (name == word) found = value;
  return found;
}

// Waits until the child has ended, so that no zombie stays.
asio::awaitable<void> reap(asio::io_context& loop, pid_t pid) {
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) co_return;
  asio::posix::stream_descriptor exit(loop, pidfd.release());
  co_await exit.async_wait(asio::posix::stream_descriptor::wait_read, kNoThrow);
  waitpid(pid, nullptr, WNOHANG);
}

}  // namespace

struct CheckpointWorker::Child {
  Child(asio::io_context& loop, Fd in, Fd out)
      : input(loop, in.release()), output(loop, out.release()) {}

  asio::posix::stream_descriptor input;
  asio::posix::stream_descriptor output;
};

std::string checkpointLine(const CheckpointStep& step) {
  const std::string pid = std::to_string(step.pid);
  switch (step.call) {
    case CheckpointCall::kLock:
      return "lock " + pid + " " + std::to_string(kLockTimeout.count());
    case CheckpointCall::kCheckpoint:
      return "checkpoint " + pid;
    case CheckpointCall::kRestore:
      return "restore " + pid;
    case CheckpointCall::kUnlock:
      return "unlock " + pid;
    case CheckpointCall::kState:
      break;
  }
  return "state " + pid;
}

CheckpointReply readCheckpointReply(std::string_view line) {
  const std::size_t namespace_name = std::min(line.find(' '), line.size());
  const std::string_view rest = line.substr(std::min(namespace_name + 1, line.size()));
  const auto answer = named(kAnswers, line.substr(0, namespace_name));
  const auto state = named(kStates, rest);
  const bool done = answer == CheckpointAnswer::kDone;
  const bool fits = rest.empty() || answer == CheckpointAnswer::kRefused || (done && state);
  if (!answer || !fits)
    return {CheckpointAnswer::kRefused, DriverState::kUnknown,
            "the helper answered \"" + std::string(line) + "\""};
  CheckpointReply reply{*answer, state.value_or(DriverState::kUnknown), ""};
  if (answer == CheckpointAnswer::kRefused) reply.why = rest;
  return reply;
}

CheckpointWorker::CheckpointWorker(asio::io_context& loop, std::string executable, std::string cuda)
    : loop_(loop), executable_(std::move(executable)), cuda_(std::move(cuda)) {}

CheckpointWorker::~CheckpointWorker() = default;

// In a process group of its own, so that an interrupt from the terminal does not reach it.
bool CheckpointWorker::start() {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return false;
  Fd child_in(in[0]);
  Fd our_in(in[1]);
  if (pipe2(out.data(), O_CLOEXEC) != 0) return false;
  Fd our_out(out[0]);
  Fd child_out(out[1]);
  std::array<std::string, 4> words{executable_, "probe-checkpoint", "--cuda", cuda_};
  std::array<char*, 5> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_out.get(), STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int fault =
      posix_spawn(&pid, executable_.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) return false;
  asio::co_spawn(loop_, reap(loop_, pid), asio::detached);
  child_ = std::make_unique<Child>(loop_, std::move(our_in), std::move(our_out));
  return true;
}

asio::awaitable<CheckpointReply> CheckpointWorker::ask(CheckpointStep step) {
  if (!child_ && !start())
    co_return CheckpointReply{CheckpointAnswer::kRefused, DriverState::kUnknown,
                              "the helper cannot be started"};
  const std::string line = checkpointLine(step) + "\n";
  std::string answer;
  asio::steady_timer limit(loop_, step.limit);
  const auto talk = [&]() -> asio::awaitable<bool> {
    auto [write_fault, put] =
        co_await asio::async_write(child_->input, asio::buffer(line), kNoThrow);
    if (write_fault) co_return false;
    auto [read_fault, got] = co_await asio::async_read_until(
        child_->output, asio::dynamic_buffer(answer, kMaxReplyLine), '\n', kNoThrow);
    co_return !read_fault;
  };
  const std::variant<bool, std::tuple<error_code>> first =
      co_await (talk() || limit.async_wait(kNoThrow));
  const bool* spoke = std::get_if<bool>(&first);
  if (spoke != nullptr && *spoke)
    co_return readCheckpointReply(answer.substr(0, answer.find('\n')));
  child_.reset();
  if (spoke == nullptr)
    co_return CheckpointReply{CheckpointAnswer::kSilent, DriverState::kUnknown, ""};
  co_return CheckpointReply{CheckpointAnswer::kRefused, DriverState::kUnknown, "the helper died"};
}

}  // namespace divvy::agent
