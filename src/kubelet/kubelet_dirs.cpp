#include "kubelet/kubelet_dirs.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "kubelet/checkpoint.h"

namespace divvy::kubelet {
namespace {

constexpr int kBacklog = 64;

std::optional<sockaddr_un> addressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

Fd streamSocket() {
  return Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// On failure the descriptor is invalid and errno is set.
Fd connectTo(const std::string& path) {
  const std::optional<sockaddr_un> address = addressOf(path);
  if (!address) {
    errno = ENAMETOOLONG;
    return Fd();
  }
  Fd fd = streamSocket();
  if (fd.valid() &&
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    const int why = errno;
    fd.reset();
    errno = why;
  }
  return fd;
}

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

}  // namespace

std::string LocalKubeletDirs::pathOf(std::string_view name) const {
  return dir_ + "/device-plugins" + (name.empty() ? "" : "/") + std::string(name);
}

std::string LocalKubeletDirs::pathOf(Api api) const {
  return api == Api::kRegistration ? pathOf(kKubeletSocket) : dir_ + "/pod-resources/kubelet.sock";
}

FileId LocalKubeletDirs::fileIdOf(const std::string& name) {
  struct stat info {};
  if (lstat(pathOf(name).c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

bool LocalKubeletDirs::isListenedTo(const std::string& name) {
  // A server with a full backlog is listening, too.
  return connectTo(pathOf(name)).valid() || errno == EAGAIN;
}

Result<Fd> LocalKubeletDirs::listen(const std::string& name) {
  const std::string path = pathOf(name);
  const std::optional<sockaddr_un> address = addressOf(path);
  if (!address) return Error{ErrorCode::kUsage, path + " is too long for a socket"};
  Fd fd = streamSocket();
  if (!fd.valid()) return ioError("making a socket");
  unlink(path.c_str());
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0)
    return ioError("listening on " + path);
  return fd;
}

void LocalKubeletDirs::remove(const std::string& name) {
  unlink(pathOf(name).c_str());
}

Result<Fd> LocalKubeletDirs::dial(Api api) {
  Fd fd = connectTo(pathOf(api));
  if (fd.valid()) return fd;
  return Error{ErrorCode::kUnavailable, "connecting: " + std::string(std::strerror(errno))};
}

Result<Fd> LocalKubeletDirs::watch() {
  Fd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  constexpr unsigned kComesAndGoes = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM;
  if (!fd.valid() || inotify_add_watch(fd.get(), pathOf("").c_str(), kComesAndGoes) < 0)
    return ioError("watching " + pathOf(""));
  return fd;
}

Result<Fd> LocalKubeletDirs::checkpoint() {
  const std::string path = pathOf(kCheckpointName);
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.valid()) return fd;
  const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error{code, "reading " + path + ": " + std::strerror(errno)};
}

}  // namespace divvy::kubelet
