#include "helper/remote.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "wire.h"

namespace divvy::helper {
namespace {

Result<Fd> fdOf(Result<Reply> reply) {
  if (!reply) return reply.error();
  if (reply->fd.valid()) return std::move(reply->fd);
  return Error{ErrorCode::kInternal, "the agent's helper gave no descriptor"};
}

std::int32_t numberOf(kubelet::Api api) {
  return static_cast<std::int32_t>(api);
}

}  // namespace

// ---- processes ----------------------------------------------------------------------------------

RemoteProcesses::RemoteProcesses(std::shared_ptr<Client> link, Fd proc, int self)
    : link_(std::move(link)), proc_(std::move(proc)), self_(self) {}

Result<std::unique_ptr<RemoteProcesses>> RemoteProcesses::make(std::shared_ptr<Client> link) {
  Result<Reply> reply = link->call(Op::kHello);
  if (!reply) return reply.error();
  const int self = static_cast<int>(reply->values[0]);
  Result<Fd> proc = fdOf(std::move(reply));
  if (!proc) return proc.error();
  if (self <= 0)
    return Error{ErrorCode::kUnsupported,
                 "the agent's helper does not see the agent: it has to be in the node's pid "
                 "namespace (hostPID)"};
  return std::unique_ptr<RemoteProcesses>(
      new RemoteProcesses(std::move(link), std::move(*proc), self));
}

std::string RemoteProcesses::folder() const {
  return "/proc/self/fd/" + std::to_string(proc_.get());
}

Fd RemoteProcesses::open(int pid) const {
  Result<Reply> reply = link_->call(Op::kProcess, pid);
  const bool none = !reply && reply.error().code() == ErrorCode::kNotFound;
  if (reply && reply->fd.valid()) return std::move(reply->fd);
  errno = none ? ESRCH : EAGAIN;
  return Fd();
}

Client& RemoteProcesses::ownLink() const {
  thread_local std::unique_ptr<Client> own;
  if (!own || own->socket() != link_->socket())
    own = std::make_unique<Client>(link_->socket(), kPeerPatience);
  return *own;
}

// UIDs are equal in all namespaces here, so the user is known even without the helper.
Result<Peer> RemoteProcesses::peer(int connection) const {
  ucred found{};
  socklen_t size = sizeof found;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0)
    return Error{ErrorCode::kUnavailable,
                 std::string("reading the peer of a socket: ") + std::strerror(errno)};
  const Result<Reply> reply = ownLink().call(Op::kPeer, 0, "", connection);
  return Peer{reply ? static_cast<int>(reply->values[0]) : 0, found.uid};
}

// ---- the kubelet's folders ----------------------------------------------------------------------

RemoteKubeletDirs::RemoteKubeletDirs(std::shared_ptr<Client> link, std::string kubelet_dir)
    : link_(std::move(link)), names_(std::move(kubelet_dir)) {}

kubelet::FileId RemoteKubeletDirs::fileIdOf(const std::string& name) {
  const Result<Reply> reply = link_->call(Op::kFileId, 0, name);
  const std::lock_guard<std::mutex> hold(mutex_);
  kubelet::FileId& file = seen_[name];
  if (reply)
    file = {static_cast<std::uint64_t>(reply->values[0]),
            static_cast<std::uint64_t>(reply->values[1]), reply->values[2], reply->values[3]};
  return file;
}

bool RemoteKubeletDirs::isListenedTo(const std::string& name) {
  const Result<Reply> reply = link_->call(Op::kIsListened, 0, name);
  const std::lock_guard<std::mutex> hold(mutex_);
  bool& listened = listened_[name];
  if (reply) listened = reply->values[0] != 0;
  return listened;
}

Result<Fd> RemoteKubeletDirs::listen(const std::string& name) {
  return fdOf(link_->call(Op::kListen, 0, name));
}

void RemoteKubeletDirs::remove(const std::string& name) {
  static_cast<void>(link_->call(Op::kRemove, 0, name));
}

Result<Fd> RemoteKubeletDirs::dial(kubelet::Api api) {
  return fdOf(link_->call(Op::kDial, numberOf(api)));
}

Result<Fd> RemoteKubeletDirs::watch() {
  return fdOf(link_->call(Op::kWatch));
}

Result<Fd> RemoteKubeletDirs::checkpoint() {
  return fdOf(link_->call(Op::kCheckpoint));
}

// ---- processes that use devices
// ------------------------------------------------------------------

std::vector<driver::ProcessUse> RemoteUsage::processes(const std::string& uuid) {
  std::vector<driver::ProcessUse>& last = uses_[uuid];
  const Result<Reply> reply = link_->call(Op::kUses, 0, uuid);
  if (!reply) return last;
  last.clear();
  for (const ReplyRow& row : reply->rows)
    last.push_back({row.pid, Bytes{row.large}, row.small != 0});
  return last;
}

std::vector<driver::ProcessTime> RemoteUsage::times(const std::string& uuid) {
  std::vector<driver::ProcessTime>& last = times_[uuid];
  const Result<Reply> reply = link_->call(Op::kTimes, 0, uuid);
  if (!reply) return last;
  last.clear();
  for (const ReplyRow& row : reply->rows) last.push_back({row.pid, row.small, row.large});
  return last;
}

// ---- folders ------------------------------------------------------------------------------------

Result<void> shareDirsAgain(Client& link) {
  const Result<Reply> reply = link.call(Op::kLend);
  if (!reply) return reply.error();
  return {};
}

// ---- devices of runtimes ------------------------------------------------------------------------

Result<void> writeSpec(Client& link, const std::string& name, const std::string& text) {
  const Fd file(memfd_create("divvy-spec", MFD_CLOEXEC));
  const bool written = file.valid() && ::write(file.get(), text.data(), text.size()) ==
                                           static_cast<ssize_t>(text.size());
  if (!written) return Error{ErrorCode::kIo, "writing " + name + ": " + std::strerror(errno)};
  const Result<Reply> reply = link.call(Op::kWriteSpec, 0, name, file.get());
  if (!reply) return reply.error();
  return {};
}

Result<void> removeSpec(Client& link, const std::string& name) {
  const Result<Reply> reply = link.call(Op::kRemoveSpec, 0, name);
  if (!reply) return reply.error();
  return {};
}

}  // namespace divvy::helper
