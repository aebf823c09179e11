#include "helper/remote.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "wire.h"

namespace divvy::helper {
namespace {

Result<Fd> fdOf(Result<Answer> answer) {
  if (!answer) return answer.error();
  if (answer->fd.valid()) return std::move(answer->fd);
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
  Result<Answer> answer = link->ask(Op::kHello);
  if (!answer) return answer.error();
  const int self = static_cast<int>(answer->values[0]);
  Result<Fd> proc = fdOf(std::move(answer));
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
  Result<Answer> answer = link_->ask(Op::kProcess, pid);
  const bool none = !answer && answer.error().code() == ErrorCode::kNotFound;
  if (answer && answer->fd.valid()) return std::move(answer->fd);
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
                 std::string("asking who is at a socket's end: ") + std::strerror(errno)};
  const Result<Answer> answer = ownLink().ask(Op::kPeer, 0, "", connection);
  return Peer{answer ? static_cast<int>(answer->values[0]) : 0, found.uid};
}

// ---- the kubelet's folders ----------------------------------------------------------------------

RemoteKubeletDirs::RemoteKubeletDirs(std::shared_ptr<Client> link, std::string kubelet_dir)
    : link_(std::move(link)), names_(std::move(kubelet_dir)) {}

kubelet::FileId RemoteKubeletDirs::look(const std::string& name) {
  const Result<Answer> answer = link_->ask(Op::kLook, 0, name);
  const std::lock_guard<std::mutex> hold(mutex_);
  kubelet::FileId& file = seen_[name];
  if (answer)
    file = {static_cast<std::uint64_t>(answer->values[0]),
            static_cast<std::uint64_t>(answer->values[1]), answer->values[2], answer->values[3]};
  return file;
}

bool RemoteKubeletDirs::isListenedTo(const std::string& name) {
  const Result<Answer> answer = link_->ask(Op::kIsListened, 0, name);
  const std::lock_guard<std::mutex> hold(mutex_);
  bool& heard = heard_[name];
  if (answer) heard = answer->values[0] != 0;
  return heard;
}

Result<Fd> RemoteKubeletDirs::listen(const std::string& name) {
  return fdOf(link_->ask(Op::kListen, 0, name));
}

void RemoteKubeletDirs::remove(const std::string& name) {
  static_cast<void>(link_->ask(Op::kRemove, 0, name));
}

Result<Fd> RemoteKubeletDirs::dial(kubelet::Api api) {
  return fdOf(link_->ask(Op::kDial, numberOf(api)));
}

Result<Fd> RemoteKubeletDirs::watch() {
  return fdOf(link_->ask(Op::kWatch));
}

Result<Fd> RemoteKubeletDirs::checkpoint() {
  return fdOf(link_->ask(Op::kCheckpoint));
}

// ---- processes that use devices
// ------------------------------------------------------------------

std::vector<driver::ProcessUse> RemoteUsage::processes(const std::string& uuid) {
  std::vector<driver::ProcessUse>& last = uses_[uuid];
  const Result<Answer> answer = link_->ask(Op::kUses, 0, uuid);
  if (!answer) return last;
  last.clear();
  for (const Row& row : answer->rows) last.push_back({row.pid, Bytes{row.large}, row.small != 0});
  return last;
}

std::vector<driver::ProcessTime> RemoteUsage::times(const std::string& uuid) {
  std::vector<driver::ProcessTime>& last = times_[uuid];
  const Result<Answer> answer = link_->ask(Op::kTimes, 0, uuid);
  if (!answer) return last;
  last.clear();
  for (const Row& row : answer->rows) last.push_back({row.pid, row.small, row.large});
  return last;
}

// ---- folders ------------------------------------------------------------------------------------

Result<void> shareDirsAgain(Client& link) {
  const Result<Answer> answer = link.ask(Op::kLend);
  if (!answer) return answer.error();
  return {};
}

// ---- devices of runtimes ------------------------------------------------------------------------

Result<void> writeSpec(Client& link, const std::string& name, const std::string& text) {
  const Fd file(memfd_create("divvy-spec", MFD_CLOEXEC));
  const bool written = file.valid() && ::write(file.get(), text.data(), text.size()) ==
                                           static_cast<ssize_t>(text.size());
  if (!written) return Error{ErrorCode::kIo, "writing " + name + ": " + std::strerror(errno)};
  const Result<Answer> answer = link.ask(Op::kWriteSpec, 0, name, file.get());
  if (!answer) return answer.error();
  return {};
}

Result<void> removeSpec(Client& link, const std::string& name) {
  const Result<Answer> answer = link.ask(Op::kRemoveSpec, 0, name);
  if (!answer) return answer.error();
  return {};
}

}  // namespace divvy::helper
