#include "connection_acceptor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include <grpcpp/server_posix.h>

namespace divvy::kubelet {
namespace {

// Pause while no descriptor is free, because poll would report the waiting connection at once.
constexpr int kRestMs = 100;

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(Fd listening, grpc::Server& server)
    : listening_(std::move(listening)),
      server_(server),
      bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this] { work(); }) {}

ConnectionAcceptor::~ConnectionAcceptor() {
  stop();
}

void ConnectionAcceptor::work() {
  std::array<pollfd, 2> ready{pollfd{bell_.get(), POLLIN, 0}, pollfd{listening_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if (ready[0].revents != 0) return;
    Fd caller(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (caller.valid()) {
      grpc::AddInsecureChannelFromFd(&server_, caller.release());
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      poll(ready.data(), 1, kRestMs);
    }
  }
}

void ConnectionAcceptor::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t once = 1;
  [[maybe_unused]] const ssize_t written = write(bell_.get(), &once, sizeof once);
  thread_.join();
  listening_.reset();
}

}  // namespace divvy::kubelet
