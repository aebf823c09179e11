#include "helper/client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "wire.h"

namespace divvy::helper {

Client::Client(std::string socket, std::chrono::milliseconds patience)
    : socket_(std::move(socket)), patience_(patience) {}

Client::~Client() = default;

Error Client::away(const std::string& why) const {
  return {ErrorCode::kUnavailable, "the agent's helper at " + socket_ + ": " + why};
}

Result<void> Client::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path)
    return Error{ErrorCode::kUsage, socket_ + " is too long for a socket"};
  std::memcpy(address.sun_path, socket_.c_str(), socket_.size());
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  timeval limit{};
  limit.tv_sec = patience_.count() / 1000;
  limit.tv_usec = patience_.count() % 1000 * 1000;
  const bool good =
      fd.valid() && setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
      setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!good) return away(std::strerror(errno));
  connection_ = std::move(fd);
  return {};
}

Result<Reply> Client::call(Op op, int number, std::string_view text, int fd) {
  const std::lock_guard<std::mutex> hold(mutex_);
  const bool fresh = !connection_.valid();
  if (fresh)
    if (Result<void> there = connect(); !there) return there.error();
  Result<void> sent = sendRequest(connection_.get(), op, number, text, fd);
  // Another helper may have replaced it since the last request.
  if (!sent && !fresh) {
    if (Result<void> there = connect(); !there) return there.error();
    sent = sendRequest(connection_.get(), op, number, text, fd);
  }
  bool came = false;
  Result<Reply> reply = sent ? receiveReply(connection_.get(), &came) : Result<Reply>(sent.error());
  if (came) return reply;
  // A late answer would be taken for that of the next request.
  connection_.reset();
  return away(reply.error().message());
}

}  // namespace divvy::helper
