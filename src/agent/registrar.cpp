#include "registrar.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include <boost/asio/steady_timer.hpp>

#include "base/processes.h"
#include "base/received_fd.h"
#include "ledger/registration.h"
#include "log.h"

namespace divvy::agent {
namespace {

constexpr int kBacklog = 1024;
// A packet is one call behind the connection.
constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kRest{100};

struct Registration {
  ledger::RegisterPacket packet{};
  Fd pidfd;
  Peer peer;
};

enum class Receipt { kWhole, kNotYet, kRubbish };

// kWhole: a packet of ours, from a process that may send one.
Receipt receive(int connection, bool from_all, Registration& out) {
  iovec data{&out.packet, sizeof out.packet};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Receipt::kNotYet : Receipt::kRubbish;
  out.pidfd = takeDescriptor(message);
  const Result<Peer> peer = processes().peer(connection);
  // Unknown is nobody's: it comes again, or is found by what it wrote.
  if (!peer || peer->pid <= 0) return Receipt::kRubbish;
  out.peer = *peer;
  const bool ours = from_all || out.peer.uid == geteuid() || out.peer.uid == 0;
  const bool whole = got == static_cast<ssize_t>(sizeof out.packet) &&
                     out.packet.magic == ledger::kRegisterMagic &&
                     out.packet.version == ledger::kRegisterVersion;
  return ours && whole ? Receipt::kWhole : Receipt::kRubbish;
}

std::string tenantOf(const ledger::RegisterPacket& packet) {
  return std::string(packet.tenant_id, strnlen(packet.tenant_id, sizeof packet.tenant_id));
}

void answer(int connection, ledger::RegisterStatus status, int host_pid) {
  const ledger::RegisterReply reply{ledger::kRegisterMagic, status,
                                    static_cast<std::uint32_t>(host_pid), 0};
  // The sender may be gone or not interested.
  static_cast<void>(send(connection, &reply, sizeof reply, MSG_DONTWAIT | MSG_NOSIGNAL));
}

}  // namespace

Result<void> Registrar::listen(const std::string& path, Hears hears) {
  hears_ = hears;
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  unlink(path.c_str());
  if (!fd.valid() || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      (hears == Hears::kAll && chmod(path.c_str(), 0666) != 0) ||
      ::listen(fd.get(), kBacklog) != 0) {
    return Error{ErrorCode::kIo, "listening on " + path + ": " + std::strerror(errno)};
  }
  socket_.assign(fd.release());
  accept();
  return {};
}

void Registrar::accept() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code& fault) {
    if (fault) return;
    for (;;) {
      Fd connection(
          accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!connection.valid()) break;
      serve(std::move(connection));
    }
    if (errno == EMFILE || errno == ENFILE) return rest();
    accept();
  });
}

// Without descriptors whoever waits would be told of again at once, and again.
void Registrar::rest() {
  const auto pause = std::make_shared<asio::steady_timer>(socket_.get_executor(), kRest);
  pause->async_wait([this, pause](const error_code& fault) {
    if (!fault) accept();
  });
}

// Clients send right after connecting, mostly before they are accepted; the few others are waited
// for, for a while.
void Registrar::serve(Fd connection) {
  Registration registration;
  const Receipt receipt = receive(connection.get(), hears_ == Hears::kAll, registration);
  if (receipt == Receipt::kRubbish) return;
  if (receipt == Receipt::kNotYet) {
    auto waiting = std::make_shared<asio::posix::stream_descriptor>(socket_.get_executor(),
                                                                    connection.release());
    const auto patience = std::make_shared<asio::steady_timer>(socket_.get_executor(), kPatience);
    waiting->async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, waiting, patience](const error_code& fault) {
                          patience->cancel();
                          if (!fault) serve(Fd(waiting->release()));
                        });
    patience->async_wait([waiting](const error_code& fault) {
      error_code gone;
      if (!fault) waiting->close(gone);
    });
    return;
  }
  const ledger::RegisterPacket& packet = registration.packet;
  const int pid = registration.peer.pid;
  const TenantPtr tenant = tenants_.find(tenantOf(packet));
  if (tenant == nullptr || !tenant->pages)
    return answer(connection.get(), ledger::RegisterStatus::kUnknownTenant, pid);
  // Containers share one socket, and all have a process 1: the kernel says whose this one is.
  const bool containers = hears_ == Hears::kAll;
  const bool contained = tenant->record.inContainer();
  if (containers != contained || (contained && !Tenants::isIn(*tenant, pid)))
    return answer(connection.get(), ledger::RegisterStatus::kUnknownTenant, pid);
  if (packet.slot >= ledger::kMaxSlots) {
    // What is due every second is not done at anybody's word.
    if (!containers) tenants_.sweep();
    return answer(connection.get(), ledger::RegisterStatus::kBusy, pid);
  }
  const Result<bool> owns = tenant->pages->claimedBy(packet.slot, packet.generation, packet.pid);
  if (!owns || !*owns) return answer(connection.get(), ledger::RegisterStatus::kBadSlot, pid);
  // The kernel's word, not the packet's, says which process this is. The pidfd that came along
  // serves where the agent cannot open one by number any more.
  const ProcessId id{pid, startTimeOf(pid)};
  Fd pidfd = openProcess(id);
  // Anybody's descriptor may be anything.
  if (!pidfd.valid() && !containers) pidfd = std::move(registration.pidfd);
  tenants_.watchProcess(tenant, {packet.slot, packet.generation}, id, std::move(pidfd));
  answer(connection.get(), ledger::RegisterStatus::kOk, pid);
}

}  // namespace divvy::agent
