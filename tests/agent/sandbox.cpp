#include "sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

extern char** environ;

namespace divvy::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLimit{60};

void readInto(const Fd& fd, std::string& text) {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = read(fd.get(), chunk.data(), chunk.size());
    if (got <= 0) return;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

std::array<Fd, 2> makePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) abort();
  return {Fd(ends[0]), Fd(ends[1])};
}

std::vector<std::string> environmentWith(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) all.push_back(name + "=" + value);
  }
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

int Outcome::code() const {
  return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
int Outcome::signal() const {
  return status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() >= end) return condition();
    poll(nullptr, 0, 5);
  }
  return true;
}

Child::Child(const Words& words, const std::map<std::string, std::string>& environment) {
  auto [input_read, input_write] = makePipe();
  auto [output_read, output_write] = makePipe();
  auto [errors_read, errors_write] = makePipe();
  const std::vector<std::string> variables = environmentWith(environment);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input_read.get(), STDIN_FILENO);
    dup2(output_write.get(), STDOUT_FILENO);
    dup2(errors_write.get(), STDERR_FILENO);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  input_ = std::move(input_write);
  output_ = std::move(output_read);
  errors_ = std::move(errors_read);
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      stopped_(other.stopped_),
      outcome_(std::move(other.outcome_)) {}

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Child::signal(int number) const {
  // -1, of one that has ended, would be everybody.
  if (pid_ > 0) kill(pid_, number);
}

// A child that is no more fails the test that talks to it, and says what it said last; the signal
// would take all other tests of the program along.
void Child::say(const std::string& text) {
  sigset_t broken_pipe;
  sigset_t before;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  const ssize_t put = write(input_.get(), text.data(), text.size());
  const timespec at_once{};
  if (put < 0 && errno == EPIPE) sigtimedwait(&broken_pipe, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (put == static_cast<ssize_t>(text.size())) return;
  ended();
  drain();
  ADD_FAILURE() << "nobody to say '" << text << "' to; status " << outcome_.status << "\n"
                << outcome_.out << outcome_.err;
}

void Child::drain() {
  readInto(output_, outcome_.out);
  readInto(errors_, outcome_.err);
}

void Child::poll(int options) {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG | options) != pid_) return;
  if (WIFSTOPPED(status)) {
    stopped_ = true;
    return;
  }
  outcome_.status = status;
  pid_ = -1;
}

bool Child::printed(const std::string& text) {
  eventually([&] {
    const bool over = ended();
    drain();
    return over || outcome_.out.find(text) != std::string::npos;
  });
  if (outcome_.out.find(text) != std::string::npos) return true;
  std::fprintf(stderr, "'%s' was not printed; status %d\n%s%s\n", text.c_str(), outcome_.status,
               outcome_.out.c_str(), outcome_.err.c_str());
  return false;
}

bool Child::complained(const std::string& text) {
  eventually([&] {
    const bool over = ended();
    drain();
    return over || outcome_.err.find(text) != std::string::npos;
  });
  return outcome_.err.find(text) != std::string::npos;
}

bool Child::stopped() {
  return eventually([&] {
    poll(WUNTRACED);
    return stopped_;
  });
}

bool Child::ended() {
  poll(0);
  return pid_ <= 0;
}

Outcome Child::wait() {
  closeInput();
  eventually(
      [&] {
        drain();
        return ended();
      },
      kLimit);
  drain();
  return outcome_;
}

Sandbox::Sandbox(const std::string& node, const std::string& under) : node_(node) {
  // Short: a socket's path must fit into 107 bytes.
  std::string pattern = under + "/dv-XXXXXX";
  root_ = mkdtemp(pattern.data());
  environment_ = {{"DIVVY_RUNTIME_DIR", root_}, {"DIVVY_SIM", ""},
                  {"DIVVY_TENANT_DIR", ""},     {"DIVVY_MEMORY_LIMIT", ""},
                  {"SIMGPU_PROFILE", ""},       {"SIMGPU_DIR", ""},
                  {"SIMGPU_FAULTS", ""},        {"CUDA_VISIBLE_DEVICES", ""}};
}

Sandbox::~Sandbox() {
  // Where a test killed agents, or told them to end, another one has to look after what they left.
  const bool simulated = node_.starts_with("sim-");
  const bool left = fs::exists(tenants()) || fs::exists(dir() + "/faults");
  if (simulated && left && agentPid() == 0) divvy({"gpus", "--sim", node_.substr(4)});
  divvy({"stop", "--force"});
  EXPECT_EQ(files(), Words()) << "left behind";
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

Outcome Sandbox::divvy(const Words& words) {
  return start(words).wait();
}

Child Sandbox::start(const Words& words) {
  Words all{divvyProgram()};
  all.insert(all.end(), words.begin(), words.end());
  return Child(all, environment_);
}

Words Sandbox::runWords(const std::string& memory, const Words& command) const {
  Words words{"run", "--sim", node_.substr(4), "--memory", memory, "--"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Child Sandbox::run(const std::string& memory, const Words& command) {
  return start(runWords(memory, command));
}

agent::Snapshot Sandbox::snapshot() {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (dir() + "/agent.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  const std::string line = agent::encode(agent::Request(agent::ListRequest{}));
  if (send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return {};
  std::string answer;
  std::array<char, 65536> chunk;
  while (answer.find('\n') == std::string::npos) {
    const ssize_t got = recv(fd.get(), chunk.data(), chunk.size(), 0);
    if (got <= 0) return {};
    answer.append(chunk.data(), static_cast<std::size_t>(got));
  }
  Result<agent::Reply> reply = agent::decodeReply(answer.substr(0, answer.find('\n')));
  EXPECT_TRUE(reply) << reply.error().message();
  return std::get<agent::SnapshotReply>(*reply).snapshot;
}

bool Sandbox::tenantCount(std::size_t count) {
  return eventually([&] {
    const agent::Snapshot now = snapshot();
    return now.agent_pid != 0 && now.tenants.size() == count;
  });
}

Words Sandbox::files() const {
  Words paths;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(root_, ignored))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string Sandbox::agentLog() const {
  std::ifstream file(dir() + "/agent.log");
  return {std::istreambuf_iterator<char>(file), {}};
}

Fd connectTo(const std::string& path, int type) {
  Fd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

std::string buildDir() {
  const char* dir = getenv("DIVVY_BUILD_DIR");
  return dir == nullptr ? "." : dir;
}

std::string divvyProgram() {
  return buildDir() + "/bin/divvy";
}
std::string tenantProgram() {
  return buildDir() + "/tests/tenant_process";
}

std::vector<int> processesWith(const std::string& argument) {
  std::vector<int> pids;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const int pid = atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    const std::size_t program_end = line.find('\0');
    if (program_end == std::string::npos) continue;
    if (pid > 0 && line.substr(program_end + 1) == argument + '\0') pids.push_back(pid);
  }
  return pids;
}

}  // namespace divvy::test
