#include "client/exec_credential.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/rfc3339.h"
#include "objects/members.h"

namespace divvy::kube {
namespace {

constexpr std::array kVersions{"client.authentication.k8s.io/v1",
                               "client.authentication.k8s.io/v1beta1"};
constexpr std::size_t kMaxText = 1u << 20;

std::string infoOf(const ExecPlugin& plugin) {
  return json::serialize(json::object{{"apiVersion", plugin.api_version},
                                      {"kind", "ExecCredential"},
                                      {"spec", json::object{{"interactive", false}}}});
}

// Our environment, with the kubeconfig's variables and the protocol's own taking precedence.
std::vector<std::string> environmentOf(const ExecPlugin& plugin) {
  std::vector<std::pair<std::string, std::string>> more = plugin.environment;
  more.emplace_back("KUBERNETES_EXEC_INFO", infoOf(plugin));
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text(*one);
    bool hidden = false;
    for (const auto& [name, value] : more)
      hidden = hidden || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
    if (!hidden) all.emplace_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + '=' + value);
  return all;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// In a process group of its own, so that its children are killed with it. Its stdout is `out`.
int start(const ExecPlugin& plugin, int out, pid_t* pid) {
  std::vector<std::string> words{plugin.command};
  words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> variables = environmentOf(plugin);
  const std::vector<char*> arguments = pointersTo(words);
  const std::vector<char*> environment = pointersTo(variables);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t terms;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_init(&terms);
  posix_spawnattr_setflags(&terms, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&terms, 0);
  const int fault = posix_spawnp(pid, plugin.command.c_str(), &files, &terms, arguments.data(),
                                 environment.data());
  posix_spawnattr_destroy(&terms);
  posix_spawn_file_actions_destroy(&files);
  return fault;
}

std::string endOf(int status) {
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

// A running child process. The destructor kills it if it has not ended.
class Running {
 public:
  explicit Running(pid_t pid) : pid_(pid) {}
  ~Running() {
    if (pid_ > 0) end();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t pid() const { return pid_; }
  int end() {
    kill(-pid_, SIGKILL);
    return reap();
  }
  int reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

}  // namespace

Result<void> checkPlugin(const ExecPlugin& plugin) {
  std::string accepted;
  for (const char* version : kVersions) {
    if (plugin.api_version == version) return {};
    accepted += (accepted.empty() ? "" : ", ") + std::string(version);
  }
  return Error{ErrorCode::kUnsupported, "credentials by " + plugin.command + ": apiVersion \"" +
                                            plugin.api_version +
                                            "\" is not supported; accepted: " + accepted};
}

Result<Credential> credentialIn(const std::string& text, const std::string& api_version) {
  error_code fault;
  const json::value said = json::parse(text, fault);
  if (fault) return Error{ErrorCode::kCorrupt, "its output is not JSON"};
  Members members(said, "");
  std::string version, kind, expires;
  Credential credential;
  members.text("apiVersion", &version);
  members.text("kind", &kind);
  members.in("status", [&](Members& status) {
    status.text("token", &credential.token);
    status.text("clientCertificateData", &credential.certificate);
    status.text("clientKeyData", &credential.key);
    status.text("expirationTimestamp", &expires);
  });
  if (!members.ok()) return members.error();
  if (kind != "ExecCredential" || version != api_version)
    return Error{ErrorCode::kCorrupt, "it prints \"" + version + ' ' + kind + "\"; expected \"" +
                                          api_version + " ExecCredential\""};
  if (credential.certificate.empty() != credential.key.empty())
    return Error{ErrorCode::kCorrupt, "clientCertificateData and clientKeyData go together"};
  if (credential.token.empty() && credential.certificate.empty())
    return Error{ErrorCode::kCorrupt, "there is neither a token nor a certificate"};
  if (!expires.empty()) {
    const auto until = parseRfc3339(expires, Rfc3339Form::kAnyOffset);
    if (!until)
      return Error{ErrorCode::kCorrupt, "expirationTimestamp \"" + expires + "\" is not a time"};
    credential.until = std::chrono::floor<std::chrono::seconds>(*until);
  }
  return credential;
}

namespace {

std::string textOf(std::chrono::milliseconds bound) {
  const auto count = bound.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

}  // namespace

asio::awaitable<Result<Credential>> runPlugin(ExecPlugin plugin, std::chrono::milliseconds bound) {
  const auto failed = [&](const std::string& why) {
    return Error{ErrorCode::kUnavailable, "credentials by " + plugin.command + ": " + why};
  };
  const auto executor = co_await asio::this_coro::executor;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) co_return failed(std::strerror(errno));
  // The timer's handler may be called after the wait has ended.
  struct Wait {
    asio::posix::stream_descriptor out, ended;
    bool late = false;
  };
  const auto wait = std::make_shared<Wait>(Wait{asio::posix::stream_descriptor(executor, ends[0]),
                                                asio::posix::stream_descriptor(executor)});
  pid_t pid = 0;
  const int fault = start(plugin, ends[1], &pid);
  close(ends[1]);
  if (fault != 0) co_return failed(std::strerror(fault));
  Running running(pid);
  error_code ignored;
  wait->ended.assign(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), ignored);
  asio::steady_timer timer(executor, bound);
  timer.async_wait([wait](const error_code& cancelled) {
    if (cancelled) return;
    wait->late = true;
    error_code none;
    wait->out.cancel(none);
    wait->ended.cancel(none);
  });
  std::string text;
  std::array<char, 4096> part;
  while (text.size() <= kMaxText) {
    auto [over, size] = co_await wait->out.async_read_some(asio::buffer(part), kNoThrow);
    text.append(part.data(), size);
    if (over) break;
  }
  if (!wait->late && text.size() <= kMaxText) {
    auto [gone] =
        co_await wait->ended.async_wait(asio::posix::descriptor_base::wait_read, kNoThrow);
    (void)gone;
  }
  timer.cancel();
  if (wait->late || text.size() > kMaxText) {
    running.end();
    co_return failed(wait->late ? "not ready within " + textOf(bound)
                                : "it prints more than " + std::to_string(kMaxText) + " bytes");
  }
  const int status = running.reap();
  if (status != 0) co_return failed(endOf(status));
  Result<Credential> read = credentialIn(text, plugin.api_version);
  if (!read) co_return failed(read.error().message());
  co_return read;
}

}  // namespace divvy::kube
