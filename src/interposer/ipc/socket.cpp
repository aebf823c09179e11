#include "ipc/socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr char kPrefix[] = "divvy-ipc-";
constexpr std::size_t kPrefixBytes = sizeof kPrefix - 1;

struct Address {
  sockaddr_un name{};
  std::uint32_t bytes;

  explicit Address(std::uint64_t number) {
    name.sun_family = AF_UNIX;
    char* at = name.sun_path + 1;  // a name that begins with 0 is not in the file system
    __builtin_memcpy(at, kPrefix, kPrefixBytes);
    at += kPrefixBytes;
    for (int shift = 60; shift >= 0; shift -= 4) *at++ = "0123456789abcdef"[number >> shift & 15];
    bytes = static_cast<std::uint32_t>(at - reinterpret_cast<char*>(&name));
  }
};

// Space for one descriptor with a message.
union Beside {
  cmsghdr head;
  char room[CMSG_SPACE(sizeof(int))];
};

msghdr messageOf(iovec* part) {
  msghdr message{};
  message.msg_iov = part;
  message.msg_iovlen = 1;
  return message;
}

// Repeats interrupted calls; each call has its own bound.
template <typename Call>
long insist(Call call) {
  for (;;) {
    const long result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace

bool drawRandom(std::uint64_t* out) {
  return ::syscall(SYS_getrandom, out, sizeof *out, 0) == static_cast<long>(sizeof *out);
}

bool IpcSocket::open() {
  fd_ = static_cast<int>(::syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  return fd_ >= 0;
}

bool IpcSocket::beImpatient() const {
  const timeval bound = {kIpcPatience, 0};
  return ::syscall(SYS_setsockopt, fd_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound) == 0 &&
         ::syscall(SYS_setsockopt, fd_, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound) == 0;
}

bool IpcSocket::listen(std::uint64_t* name) {
  if (!drawRandom(name) || !open()) return false;
  const Address address(*name);
  if (::syscall(SYS_bind, fd_, &address.name, address.bytes) == 0 &&
      ::syscall(SYS_listen, fd_, 64) == 0) {
    return true;
  }
  close();
  return false;
}

bool IpcSocket::connect(std::uint64_t name) {
  const Address address(name);
  if (open() && beImpatient() &&
      insist([&] { return ::syscall(SYS_connect, fd_, &address.name, address.bytes); }) == 0) {
    return true;
  }
  close();
  return false;
}

bool IpcSocket::accept(IpcSocket* out) const {
  out->close();
  out->fd_ = static_cast<int>(
      insist([&] { return ::syscall(SYS_accept4, fd_, nullptr, nullptr, SOCK_CLOEXEC); }));
  return out->fd_ >= 0 && out->beImpatient();
}

bool IpcSocket::listensAt(std::uint64_t name) const {
  const Address expected(name);
  sockaddr_un found{};
  std::uint32_t bytes = sizeof found;
  return fd_ >= 0 && ::syscall(SYS_getsockname, fd_, &found, &bytes) == 0 &&
         bytes == expected.bytes && __builtin_memcmp(&found, &expected.name, bytes) == 0;
}

void IpcSocket::shutDown() const {
  ::syscall(SYS_shutdown, fd_, SHUT_RDWR);
}

void IpcSocket::close() {
  if (fd_ >= 0) sys::close(fd_);
  fd_ = -1;
}

bool IpcSocket::send(const void* data, std::size_t bytes, int fd) const {
  iovec part = {const_cast<void*>(data), bytes};
  msghdr message = messageOf(&part);
  Beside beside{};
  if (fd >= 0) {
    beside.head.cmsg_level = SOL_SOCKET;
    beside.head.cmsg_type = SCM_RIGHTS;
    beside.head.cmsg_len = CMSG_LEN(sizeof fd);
    __builtin_memcpy(CMSG_DATA(&beside.head), &fd, sizeof fd);
    message.msg_control = &beside;
    message.msg_controllen = sizeof beside;
  }
  return insist([&] { return ::syscall(SYS_sendmsg, fd_, &message, MSG_NOSIGNAL); }) ==
         static_cast<long>(bytes);
}

bool IpcSocket::receive(void* data, std::size_t bytes, int* fd) const {
  iovec part = {data, bytes};
  msghdr message = messageOf(&part);
  Beside beside{};
  message.msg_control = &beside;
  message.msg_controllen = sizeof beside;
  const long got = insist([&] { return ::syscall(SYS_recvmsg, fd_, &message, MSG_CMSG_CLOEXEC); });
  int came = -1;
  if (got > 0 && message.msg_controllen >= CMSG_LEN(sizeof came) &&
      beside.head.cmsg_level == SOL_SOCKET && beside.head.cmsg_type == SCM_RIGHTS &&
      beside.head.cmsg_len == CMSG_LEN(sizeof came)) {
    __builtin_memcpy(&came, CMSG_DATA(&beside.head), sizeof came);
  }
  if (fd != nullptr) {
    *fd = came;
  } else if (came >= 0) {
    sys::close(came);
  }
  return got == static_cast<long>(bytes) && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

}  // namespace divvy::interposer
