#include "agent_client/agent_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "agent/file_lock.h"
#include "agent_client/start_agent.h"

namespace divvy::cli {
namespace {

using Clock = std::chrono::steady_clock;

// An idle agent may end between connecting and the request, but hardly more often than this.
constexpr int kAttempts = 5;
// Pause for an agent that another process started and that will listen soon.
constexpr int kPauseMs = 200;

Error connectionLost(const std::string& why) {
  return {ErrorCode::kUnavailable, "the agent " + why};
}

int remaining(Clock::time_point deadline, int timeout_ms) {
  if (timeout_ms < 0) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(left < 0 ? 0 : left);
}

void removeMade(const agent::NodePaths& paths, const agent::CreatedDirs& made) {
  if (made.made_dir) rmdir(paths.dir().c_str());
  if (made.made_root) rmdir(paths.root().c_str());
}

Result<AgentLink> connectTo(const agent::NodePaths& paths) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid())
    return Error{ErrorCode::kIo, std::string("making a socket: ") + std::strerror(errno)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  paths.socket().copy(address.sun_path, sizeof address.sun_path - 1);
  int failed = 0;
  do {
    failed = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return Error{ErrorCode::kUnavailable, "no agent is running in " + paths.dir()};
  return AgentLink(std::move(fd));
}

}  // namespace

Result<void> AgentLink::send(const agent::Request& request) {
  const std::string line = agent::encode(request);
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t put = ::send(socket_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return connectionLost("closed the connection");
    at += static_cast<std::size_t>(put);
  }
  return {};
}

Result<agent::Reply> AgentLink::receive(int timeout_ms) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::milliseconds(timeout_ms < 0 ? 0 : timeout_ms);
  std::size_t looked_at = 0;  // length that was searched; replies may be long
  for (;;) {
    const std::size_t end = buffer_.find('\n', looked_at);
    looked_at = buffer_.size();
    if (end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return agent::decodeReply(line);
    }
    pollfd waiting{socket_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, remaining(deadline, timeout_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return connectionLost("does not answer");
    std::array<char, 65536> chunk;
    const ssize_t got = recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return connectionLost("closed the connection");
    buffer_.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

Result<agent::Reply> AgentLink::call(const agent::Request& request, int timeout_ms) {
  Result<void> sent = send(request);
  if (!sent) return sent.error();
  Result<agent::Reply> reply = receive(timeout_ms);
  if (!reply) return reply;
  if (const auto* failed = std::get_if<agent::FailedReply>(&*reply)) return asError(*failed);
  return reply;
}

Error asError(const agent::FailedReply& reply) {
  std::string text = reply.message;
  const char* separator = ": ";
  for (const std::string& reason : reply.reasons) {
    text += separator + reason;
    separator = "; ";
  }
  return {reply.code, text};
}

Result<AgentLink> findAgent(const agent::NodePaths& paths) {
  Result<AgentLink> link = connectTo(paths);
  if (!link) return link;
  Result<agent::Reply> reply = link->call(agent::PingRequest{});
  if (!reply) return reply.error();
  return link;
}

Result<AgentLink> findOrStartAgent(const agent::Node& node) {
  Result<std::string> root = agent::runtimeRoot();
  if (!root) return root.error();
  const agent::NodePaths paths(*root, node);
  Error last(ErrorCode::kUnavailable, "no agent could be started");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<AgentLink> link = findAgent(paths);
    if (link) return link;
    Result<agent::CreatedDirs> made = agent::makeNodeDir(paths);
    if (!made) return made.error();
    const Fd gate = agent::lockPath(paths.dir(), true, true);
    if (!gate.valid() && errno != ENOENT) {
      last = {ErrorCode::kIo, "locking " + paths.dir() + ": " + std::strerror(errno)};
      removeMade(paths, *made);
      return last;
    }
    if (!gate.valid()) continue;
    link = findAgent(paths);
    if (link) return link;
    Result<void> started = startAgent(node);
    if (!started) {
      removeMade(paths, *made);
      return started.error();
    }
    link = findAgent(paths);
    if (link) return link;
    last = link.error();
    poll(nullptr, 0, kPauseMs);
  }
  return last;
}

}  // namespace divvy::cli
