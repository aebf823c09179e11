#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "account/slot_claim.h"
#include "ledger/registration.h"
#include "process/syscalls.h"

namespace divvy::ledger {
namespace {

int connectToAgent(const ControlHeader& header) {
  sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  static_assert(sizeof header.agent_socket >= sizeof address.sun_path);
  const std::size_t length = strnlen(header.agent_socket, sizeof address.sun_path);
  if (length == 0 || length == sizeof address.sun_path) return -1;
  memcpy(address.sun_path, header.agent_socket, length);
  const int fd = static_cast<int>(
      syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd < 0) return -1;
  // Non-blocking: a full backlog returns EAGAIN at once, and the agent finds the process by itself.
  if (syscall(SYS_connect, fd, &address, sizeof address) != 0) {
    sysClose(fd);
    return -1;
  }
  return fd;
}

bool sendPacket(int fd, const RegisterPacket& packet, int pidfd) {
  iovec part{const_cast<RegisterPacket*>(&packet), sizeof packet};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  memset(control, 0, sizeof control);
  msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (pidfd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &pidfd, sizeof pidfd);
  }
  return syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<long>(sizeof packet);
}

}  // namespace

bool announce(const TenantPages& pages, unsigned slot, std::uint64_t generation,
              std::uint32_t pid) {
  const ControlHeader& header = pages.control().header;
  const int fd = connectToAgent(header);
  if (fd < 0) return false;
  RegisterPacket packet;
  memset(&packet, 0, sizeof packet);
  packet.magic = kRegisterMagic;
  packet.version = kRegisterVersion;
  memcpy(packet.tenant_id, header.tenant_id, sizeof packet.tenant_id);
  packet.slot = slot;
  packet.pid = pid;
  packet.generation = generation;
  const int pidfd = static_cast<int>(syscall(kSysPidfdOpen, pid, 0));
  const bool sent = sendPacket(fd, packet, pidfd);
  if (pidfd >= 0) sysClose(pidfd);
  sysClose(fd);
  return sent;
}

}  // namespace divvy::ledger
