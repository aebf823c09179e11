#include "doctor/root_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

namespace divvy::doctor {
namespace {

Error failed(const std::string& path, int code) {
  const bool none = code == ENOENT || code == ENOTDIR;
  return {none ? ErrorCode::kNotFound : ErrorCode::kIo, path + ": " + std::strerror(code)};
}

// For a descriptor opened with O_PATH.
std::string nameOf(const Fd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

PathInfo pathInfoOf(const struct stat& info) {
  PathInfo place;
  using Kind = PathInfo::Kind;
  place.kind = S_ISREG(info.st_mode)                            ? Kind::kFile
               : S_ISDIR(info.st_mode)                          ? Kind::kFolder
               : S_ISLNK(info.st_mode)                          ? Kind::kLink
               : S_ISSOCK(info.st_mode)                         ? Kind::kSocket
               : S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) ? Kind::kDevice
                                                                : Kind::kOther;
  place.mode = info.st_mode & 07777u;
  place.uid = info.st_uid;
  place.gid = info.st_gid;
  place.size = static_cast<std::uint64_t>(info.st_size);
  return place;
}

}  // namespace

Result<RootFs> RootFs::open(const std::string& root) {
  Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid())
    return Error{ErrorCode::kUsage,
                 root + ": " + std::strerror(errno) +
                     "; accepted: a directory with the machine's root file system"};
  return RootFs(root, std::move(fd));
}

Result<Fd> RootFs::at(const std::string& path, std::uint64_t flags) const {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, fd_.get(), path.c_str(), &how, sizeof how)));
  if (!fd.valid()) return failed(path, errno);
  return fd;
}

Result<Fd> RootFs::file(const std::string& path, std::uint64_t* size) const {
  const Result<Fd> named = at(path, O_PATH);
  if (!named) return named.error();
  struct stat info {};
  if (fstat(named->get(), &info) != 0) return failed(path, errno);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kCorrupt, path + " is not a regular file"};
  Fd file(::open(nameOf(*named).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return failed(path, errno);
  *size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

Result<std::string> RootFs::text(const std::string& path, std::size_t most) const {
  std::uint64_t size = 0;
  const Result<Fd> file = this->file(path, &size);
  if (!file) return file.error();
  std::string text;
  std::array<char, 16384> part;
  for (;;) {
    const ssize_t got = read(file->get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > most)
      return Error{ErrorCode::kCorrupt, path + " has more than " + std::to_string(most) + " bytes"};
  }
}

Result<FileStart> RootFs::start(const std::string& path, std::size_t most) const {
  FileStart start;
  const Result<Fd> file = this->file(path, &start.size);
  if (!file) return file.error();
  start.text.resize(most);
  std::size_t size = 0;
  while (size < most) {
    const ssize_t got = read(file->get(), start.text.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  start.text.resize(size);
  return start;
}

Result<std::vector<std::string>> RootFs::list(const std::string& path) const {
  Result<Fd> fd = at(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (!fd) return fd.error();
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(fd->get()), closedir);
  if (!folder) return failed(path, errno);
  fd->release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* one = readdir(folder.get());
    if (one == nullptr) break;
    const std::string name = one->d_name;
    if (name == "." || name == "..") continue;
    names.push_back(name);
    if (names.size() > kMaxEntries)
      return Error{ErrorCode::kCorrupt,
                   path + " has more than " + std::to_string(kMaxEntries) + " entries"};
  }
  if (errno != 0) return failed(path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<PathInfo> RootFs::infoOf(const std::string& path, bool follow) const {
  const Result<Fd> named = at(path, O_PATH | (follow ? 0u : O_NOFOLLOW));
  if (!named) return named.error();
  struct stat info {};
  if (fstat(named->get(), &info) != 0) return failed(path, errno);
  return pathInfoOf(info);
}

Result<std::string> RootFs::resolved(const std::string& path) const {
  const Result<Fd> named = at(path, O_PATH);
  if (!named) return named.error();
  std::array<char, PATH_MAX> target{}, root{};
  const ssize_t size = readlink(nameOf(*named).c_str(), target.data(), target.size() - 1);
  if (size <= 0) return failed(path, errno);
  std::string found(target.data(), static_cast<std::size_t>(size));
  const ssize_t prefix = readlink(nameOf(fd_).c_str(), root.data(), root.size() - 1);
  if (prefix > 1 && found.compare(0, static_cast<std::size_t>(prefix), root.data()) == 0)
    found.erase(0, static_cast<std::size_t>(prefix));
  return found;
}

Result<FileSystemSpace> RootFs::space(const std::string& path) const {
  const Result<Fd> named = at(path, O_PATH);
  if (!named) return named.error();
  struct statvfs info {};
  if (fstatvfs(named->get(), &info) != 0) return failed(path, errno);
  FileSystemSpace space;
  space.size = std::uint64_t{info.f_blocks} * info.f_frsize;
  space.free = std::uint64_t{info.f_bavail} * info.f_frsize;
  space.files = info.f_files;
  space.files_free = info.f_favail;
  space.read_only = (info.f_flag & ST_RDONLY) != 0;
  space.noexec = (info.f_flag & ST_NOEXEC) != 0;
  return space;
}

Result<Fd> RootFs::folder(const std::string& path) const {
  return at(path, O_PATH | O_DIRECTORY);
}

}  // namespace divvy::doctor
