#include "helper/server.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "base/processes.h"
#include "landlock.h"
#include "log/log.h"
#include "request_handler.h"
#include "seccomp_filter.h"

namespace divvy::helper {
namespace {

constexpr int kBacklog = 16;
// An agent has three connections, one of them for callers on its loop. It has one more for each of
// at most nine threads that receive registrations.
constexpr std::size_t kMaxCallers = 16;
constexpr std::chrono::seconds kFarewell{1};
// Pause while no descriptor is free, because poll would report the waiting connection at once.
constexpr int kRestMs = 100;
constexpr const char* kNoLandlock =
    "no Landlock here: which files the helper may open is limited by mounts only; it takes Linux "
    "5.13 or later, and a seccomp profile that allows it";

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

Result<Fd> listenOn(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{ErrorCode::kUsage, path + " is too long for a socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  unlink(path.c_str());
  if (!fd.valid() || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0660) != 0 || listen(fd.get(), kBacklog) != 0)
    return ioError("listening on " + path);
  return fd;
}

// Connections that are being answered. Shared with their threads, because an answer may outlast
// serve().
struct ServerState {
  explicit ServerState(const ServerOptions& given) : options(given), handler(options) {}

  const ServerOptions options;
  RequestHandler handler;
  std::mutex mutex;  // protects `connections`
  std::set<int> connections;
  std::condition_variable left;
};

void handleAll(const std::shared_ptr<ServerState>& server, Fd connection, int caller_pid) {
  for (;;) {
    Result<ReceivedRequest> request = receiveRequest(connection.get());
    if (!request) {
      if (request.error().code() != ErrorCode::kCorrupt) break;
      server->options.say(
          log::line("cannot read a request",
                    {{"pid", std::to_string(caller_pid)}, {"error", request.error().message()}}));
      static_cast<void>(sendReply(connection.get(), request.error()));
      break;
    }
    const Result<Reply> reply = server->handler.reply(*request, caller_pid);
    // The agent keeps a tenant's connection open until the answer. The last process that closes it
    // may have to wait for unread data of the tenant.
    request->fd.reset();
    if (!sendReply(connection.get(), reply)) break;
  }
  const std::lock_guard<std::mutex> hold(server->mutex);
  server->connections.erase(connection.get());
  connection.reset();
  server->left.notify_all();
}

void serveConnection(const std::shared_ptr<ServerState>& server, Fd connection) {
  const Result<Peer> peer = processes().peer(connection.get());
  const ServerOptions& options = server->options;
  if (!peer || (peer->uid != options.agent_uid && peer->uid != geteuid())) {
    if (peer)
      options.say(log::line("refused a process of another user than the agent's",
                            {{"pid", std::to_string(peer->pid)},
                             {"user", std::to_string(peer->uid)},
                             {"accepted", std::to_string(options.agent_uid)}}));
    return;
  }
  const std::lock_guard<std::mutex> hold(server->mutex);
  if (server->connections.size() >= kMaxCallers) return;
  server->connections.insert(connection.get());
  std::thread([server, pid = peer->pid, connection = std::move(connection)]() mutable {
    handleAll(server, std::move(connection), pid);
  }).detach();
}

void closeConnections(const std::shared_ptr<ServerState>& server) {
  std::unique_lock<std::mutex> hold(server->mutex);
  for (const int connection : server->connections) shutdown(connection, SHUT_RDWR);
  server->left.wait_for(hold, kFarewell, [&] { return server->connections.empty(); });
}

// Returns true if file access is limited as well.
Result<bool> limitSelf(const ServerOptions& options) {
  if (Result<void> dropped = dropCapabilities(); !dropped) return dropped.error();
  const int version = landlockVersion();
  if (version > 0)
    if (Result<void> limited = limitFiles(fileRules(options), version); !limited)
      return limited.error();
  if (Result<void> narrowed = narrow(); !narrowed) return narrowed.error();
  return version > 0;
}

}  // namespace

Result<void> serve(const ServerOptions& options) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  // Before any thread starts, so that all threads inherit it.
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const Fd signals(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return ioError("waiting for signals");
  const Result<bool> landlock = limitSelf(options);
  if (!landlock) return landlock.error();
  const Result<Fd> listening = listenOn(options.socket);
  if (!listening) return listening.error();
  const auto server = std::make_shared<ServerState>(options);
  options.say(log::line("helper is ready", {{"socket", options.socket}}));
  if (!*landlock) options.say(kNoLandlock);
  for (const std::string& folder : {options.sockets->pathOf(""), options.cdi_dir})
    if (*landlock && !folder.empty() && access(folder.c_str(), F_OK) != 0)
      options.say(log::line("a directory is missing: restart the helper once it exists",
                            {{"directory", folder}}));
  std::array<pollfd, 2> ready{pollfd{signals.get(), POLLIN, 0},
                              pollfd{listening->get(), POLLIN, 0}};
  while (ready[0].revents == 0) {
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) break;
    if (ready[1].revents == 0) continue;
    Fd caller(accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (caller.valid()) {
      serveConnection(server, std::move(caller));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      poll(ready.data(), 1, kRestMs);
    }
  }
  unlink(options.socket.c_str());
  closeConnections(server);
  return {};
}

}  // namespace divvy::helper
