#include "wire.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/received_fd.h"

namespace divvy::helper {
namespace {

Error broken(const char* doing) {
  return {ErrorCode::kUnavailable, std::string(doing) + ": " + std::strerror(errno)};
}

Result<void> sendPacket(int connection, iovec* parts, std::size_t count, int fd) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* beside = CMSG_FIRSTHDR(&message);
    beside->cmsg_level = SOL_SOCKET;
    beside->cmsg_type = SCM_RIGHTS;
    beside->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(beside), &fd, sizeof fd);
  }
  for (;;) {
    if (sendmsg(connection, &message, MSG_NOSIGNAL) >= 0) return {};
    if (errno != EINTR) return broken("sending");
  }
}

// Returns the number of received bytes; 0: the peer has closed the connection.
Result<std::size_t> receivePacket(int connection, iovec* parts, std::size_t count, Fd* fd) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  for (;;) {
    const ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return broken("receiving");
    *fd = takeDescriptor(message);
    return static_cast<std::size_t>(got);
  }
}

template <std::size_t N>
void put(std::string_view text, std::array<char, N>* to) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::memcpy(to->data(), text.data(), size);
}

template <std::size_t N>
std::string textIn(const std::array<char, N>& from) {
  return std::string(from.data(), strnlen(from.data(), N));
}

ErrorCode codeOf(std::int32_t number) {
  const bool known = number >= 0 && number <= static_cast<std::int32_t>(ErrorCode::kInternal);
  return known ? static_cast<ErrorCode>(number) : ErrorCode::kInternal;
}

}  // namespace

Result<void> sendRequest(int connection, Op op, int number, std::string_view text, int fd) {
  RequestPacket packet;
  if (text.size() >= packet.text.size())
    return Error{ErrorCode::kUsage, "\"" + std::string(text) + "\" is too long"};
  packet.op = op;
  packet.number = number;
  put(text, &packet.text);
  iovec part{&packet, sizeof packet};
  return sendPacket(connection, &part, 1, fd);
}

Result<ReceivedRequest> receiveRequest(int connection) {
  ReceivedRequest request;
  iovec part{&request.packet, sizeof request.packet};
  const Result<std::size_t> got = receivePacket(connection, &part, 1, &request.fd);
  if (!got) return got.error();
  if (*got == 0) return Error{ErrorCode::kNotFound, "has left"};
  if (*got != sizeof request.packet || request.packet.magic != kMagic ||
      request.packet.version != kVersion)
    return Error{ErrorCode::kCorrupt,
                 "no question of version " + std::to_string(kVersion) + " of Divvy's helper"};
  return request;
}

std::string textOf(const RequestPacket& packet) {
  return textIn(packet.text);
}

Result<void> sendReply(int connection, const Result<Reply>& reply) {
  ReplyHead head;
  std::array<iovec, 2> parts{iovec{&head, sizeof head}, iovec{nullptr, 0}};
  if (!reply) {
    head.code = static_cast<std::int32_t>(reply.error().code());
    put(reply.error().message(), &head.text);
    return sendPacket(connection, parts.data(), 1, -1);
  }
  head.values = reply->values;
  head.rows = static_cast<std::uint32_t>(std::min(reply->rows.size(), kMaxRows));
  parts[1] = {const_cast<ReplyRow*>(reply->rows.data()), head.rows * sizeof(ReplyRow)};
  return sendPacket(connection, parts.data(), parts.size(), reply->fd.get());
}

Result<Reply> receiveReply(int connection, bool* came) {
  *came = false;
  ReplyHead head;
  Reply reply;
  reply.rows.resize(kMaxRows);
  std::array<iovec, 2> parts{iovec{&head, sizeof head},
                             iovec{reply.rows.data(), kMaxRows * sizeof(ReplyRow)}};
  const Result<std::size_t> got = receivePacket(connection, parts.data(), parts.size(), &reply.fd);
  if (!got) return got.error();
  if (*got < sizeof head || head.magic != kMagic || head.rows > kMaxRows ||
      *got != sizeof head + head.rows * sizeof(ReplyRow))
    return Error{ErrorCode::kUnavailable,
                 *got == 0 ? "it has left" : "no answer of Divvy's helper"};
  *came = true;
  if (head.code != ReplyHead::kGood) return Error{codeOf(head.code), textIn(head.text)};
  reply.values = head.values;
  reply.rows.resize(head.rows);
  return reply;
}

}  // namespace divvy::helper
