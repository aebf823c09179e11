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
std::string taken(const std::array<char, N>& from) {
  return std::string(from.data(), strnlen(from.data(), N));
}

ErrorCode codeOf(std::int32_t number) {
  const bool known = number >= 0 && number <= static_cast<std::int32_t>(ErrorCode::kInternal);
  return known ? static_cast<ErrorCode>(number) : ErrorCode::kInternal;
}

}  // namespace

Result<void> sendAsk(int connection, Op op, int number, std::string_view text, int fd) {
  Ask ask;
  if (text.size() >= ask.text.size())
    return Error{ErrorCode::kUsage, "\"" + std::string(text) + "\" is too long"};
  ask.op = op;
  ask.number = number;
  put(text, &ask.text);
  iovec part{&ask, sizeof ask};
  return sendPacket(connection, &part, 1, fd);
}

Result<Question> receiveAsk(int connection) {
  Question question;
  iovec part{&question.ask, sizeof question.ask};
  const Result<std::size_t> got = receivePacket(connection, &part, 1, &question.fd);
  if (!got) return got.error();
  if (*got == 0) return Error{ErrorCode::kNotFound, "has left"};
  if (*got != sizeof question.ask || question.ask.magic != kMagic ||
      question.ask.version != kVersion)
    return Error{ErrorCode::kCorrupt,
                 "no question of version " + std::to_string(kVersion) + " of Divvy's helper"};
  return question;
}

std::string textOf(const Ask& ask) {
  return taken(ask.text);
}

Result<void> sendAnswer(int connection, const Result<Answer>& answer) {
  AnswerHead head;
  std::array<iovec, 2> parts{iovec{&head, sizeof head}, iovec{nullptr, 0}};
  if (!answer) {
    head.code = static_cast<std::int32_t>(answer.error().code());
    put(answer.error().message(), &head.text);
    return sendPacket(connection, parts.data(), 1, -1);
  }
  head.values = answer->values;
  head.rows = static_cast<std::uint32_t>(std::min(answer->rows.size(), kMaxRows));
  parts[1] = {const_cast<Row*>(answer->rows.data()), head.rows * sizeof(Row)};
  return sendPacket(connection, parts.data(), parts.size(), answer->fd.get());
}

Result<Answer> receiveAnswer(int connection, bool* came) {
  *came = false;
  AnswerHead head;
  Answer answer;
  answer.rows.resize(kMaxRows);
  std::array<iovec, 2> parts{iovec{&head, sizeof head},
                             iovec{answer.rows.data(), kMaxRows * sizeof(Row)}};
  const Result<std::size_t> got = receivePacket(connection, parts.data(), parts.size(), &answer.fd);
  if (!got) return got.error();
  if (*got < sizeof head || head.magic != kMagic || head.rows > kMaxRows ||
      *got != sizeof head + head.rows * sizeof(Row))
    return Error{ErrorCode::kUnavailable,
                 *got == 0 ? "it has left" : "no answer of Divvy's helper"};
  *came = true;
  if (head.code != AnswerHead::kGood) return Error{codeOf(head.code), taken(head.text)};
  answer.values = head.values;
  answer.rows.resize(head.rows);
  return answer;
}

}  // namespace divvy::helper
