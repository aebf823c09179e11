#include "request_handler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/plain_file.h"
#include "base/processes.h"
#include "base/replace_file.h"
#include "helper/shared_dirs.h"

namespace divvy::helper {
namespace {

constexpr std::size_t kMaxSpec = 1u << 20;

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

bool isPlainName(std::string_view name, std::string_view begin, std::string_view end) {
  return name.size() > begin.size() + end.size() && name.starts_with(begin) &&
         name.ends_with(end) && std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
         });
}

Error noName(const std::string& name, const char* accepted) {
  return {ErrorCode::kUsage,
          "\"" + name + "\" is not a file of the agent; accepted: " + std::string(accepted)};
}

Result<Reply> withFd(Result<Fd> fd) {
  if (!fd) return fd.error();
  Reply reply;
  reply.fd = std::move(*fd);
  return reply;
}

Result<Reply> peerAt(const Fd& connection) {
  const Result<Peer> peer = processes().peer(connection.get());
  if (!peer) return peer.error();
  Reply reply;
  reply.values = {peer->pid, peer->uid};
  return reply;
}

Result<Reply> processOf(int pid) {
  Fd fd = processes().open(pid);
  if (fd.valid()) return withFd(std::move(fd));
  if (errno == ESRCH) return Error{ErrorCode::kNotFound, "no process " + std::to_string(pid)};
  return ioError("opening process " + std::to_string(pid));
}

}  // namespace

bool isSocketName(std::string_view name) {
  return isPlainName(name, "divvy-", ".sock");
}

bool isSpecName(std::string_view name) {
  return isPlainName(name, "divvy.dev-pod-", ".json");
}

Result<Reply> RequestHandler::reply(const ReceivedRequest& request, int caller_pid) {
  switch (request.packet.op) {
    case Op::kHello:
      return hello(caller_pid);
    case Op::kLend:
      return lendAll();
    case Op::kPeer:
      return peerAt(request.fd);
    case Op::kProcess:
      return processOf(request.packet.number);
    case Op::kUses:
    case Op::kTimes:
      return ofDevice(request.packet);
    case Op::kWriteSpec:
      return writeSpec(textOf(request.packet), request.fd);
    case Op::kRemoveSpec:
      return removeSpec(textOf(request.packet));
    default:
      return ofSockets(request.packet);
  }
}

Result<Reply> RequestHandler::lendAll() const {
  for (const std::string& folder : options_.lent)
    if (Result<void> good = shareDir(folder); !good) return good.error();
  return Reply{};
}

Result<Reply> RequestHandler::hello(int caller_pid) const {
  if (Result<Reply> lent = lendAll(); !lent) return lent;
  Fd proc(open(processes().folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!proc.valid()) return ioError("opening " + processes().folder());
  Reply reply;
  reply.values[0] = caller_pid;
  reply.fd = std::move(proc);
  return reply;
}

Result<Reply> RequestHandler::ofSockets(const RequestPacket& packet) {
  const std::string name = textOf(packet);
  kubelet::KubeletDirs& sockets = *options_.sockets;
  Reply reply;
  switch (packet.op) {
    case Op::kDial:
      return withFd(sockets.dial(packet.number == 0 ? kubelet::Api::kRegistration
                                                    : kubelet::Api::kPodResources));
    case Op::kWatch:
      return withFd(sockets.watch());
    case Op::kCheckpoint:
      return withFd(sockets.checkpoint());
    case Op::kListen:
    case Op::kRemove:
      if (!isSocketName(name)) return noName(name, "divvy-NAME.sock");
      if (packet.op == Op::kListen) return withFd(sockets.listen(name));
      sockets.remove(name);
      return reply;
    case Op::kFileId:
    case Op::kIsListened:
      break;
    default:
      return Error{ErrorCode::kCorrupt, "no question of ours"};
  }
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    return noName(name, "a name in the kubelet's folder");
  if (packet.op == Op::kIsListened) {
    reply.values[0] = sockets.isListenedTo(name) ? 1 : 0;
    return reply;
  }
  const kubelet::FileId file = sockets.fileIdOf(name);
  reply.values = {static_cast<std::int64_t>(file.device), static_cast<std::int64_t>(file.inode),
                  file.changed_s, file.changed_ns};
  return reply;
}

// Requires the mutex. Instances of cards may be created later.
Result<unsigned> RequestHandler::indexOf(const std::string& uuid) {
  if (!driver_) {
    Result<driver::Nvml> driver = options_.open_driver();
    if (!driver) return driver.error();
    driver_.emplace(std::move(*driver));
  }
  if (const auto known = indexes_.find(uuid); known != indexes_.end()) return known->second;
  const Result<std::vector<driver::DeviceInfo>> devices = driver_->devices();
  if (!devices) return devices.error();
  indexes_.clear();
  for (const driver::DeviceInfo& device : *devices) indexes_[device.uuid] = device.index;
  if (const auto known = indexes_.find(uuid); known != indexes_.end()) return known->second;
  return Error{ErrorCode::kNotFound, "no device " + uuid};
}

Result<Reply> RequestHandler::ofDevice(const RequestPacket& packet) {
  // One thread at a time waits for the driver; an earlier request may never be answered.
  const std::unique_lock<std::mutex> hold(driver_mutex_, std::try_to_lock);
  if (!hold.owns_lock())
    return Error{ErrorCode::kUnavailable, "the driver has not answered an earlier question"};
  const Result<unsigned> index = indexOf(textOf(packet));
  if (!index) return index.error();
  Reply reply;
  if (packet.op == Op::kTimes) {
    for (const driver::ProcessTime& one : driver_->processTimes(*index))
      reply.rows.push_back({one.pid, one.percent, one.time_us});
  } else {
    for (const driver::ProcessUse& one : driver_->processes(*index))
      reply.rows.push_back({one.pid, one.graphics ? 1u : 0u, one.bytes.count});
  }
  return reply;
}

Result<Reply> RequestHandler::writeSpec(const std::string& name, const Fd& from) const {
  if (!isSpecName(name)) return noName(name, "divvy.dev-pod-NAME.json");
  if (options_.cdi_dir.empty())
    return Error{ErrorCode::kUnsupported, "the helper has no directory for devices"};
  if (lseek(from.get(), 0, SEEK_SET) != 0) return ioError("reading the data to write");
  const Result<std::string> text = readPlainFile(from, name, kMaxSpec);
  if (!text) return text.error();
  if (Result<void> put = replaceFile(options_.cdi_dir, name, *text, 0644); !put) return put.error();
  return Reply{};
}

Result<Reply> RequestHandler::removeSpec(const std::string& name) const {
  if (!isSpecName(name)) return noName(name, "divvy.dev-pod-NAME.json");
  const std::string file = options_.cdi_dir + "/" + name;
  if (options_.cdi_dir.empty() || unlink(file.c_str()) == 0 || errno == ENOENT) return Reply{};
  return ioError("removing " + file);
}

}  // namespace divvy::helper
