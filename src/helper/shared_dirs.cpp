#include "helper/shared_dirs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/fd.h"

namespace divvy::helper {
namespace {

constexpr unsigned kFromOwnerToGroup = 3;
constexpr mode_t kModes = 07777;
// Deeper than any directory of Divvy.
constexpr int kMaxDepth = 6;

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

// Files that are removed meanwhile are skipped.
void lendBelow(const Fd& folder, int depth) {
  Fd again(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again.valid()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(again.release()), closedir);
  while (const dirent* entry = list ? readdir(list.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info {};
    if (fstatat(folder.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool folder_of_ours = S_ISDIR(info.st_mode);
    if (info.st_uid != geteuid() || !(folder_of_ours || S_ISREG(info.st_mode))) continue;
    const Fd one(openat(
        folder.get(), entry->d_name,
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (folder_of_ours ? O_DIRECTORY : 0)));
    // Checked by descriptor, because the name may belong to another file by now.
    if (!one.valid() || fstat(one.get(), &info) != 0 || info.st_uid != geteuid()) continue;
    const mode_t wanted = info.st_mode | ((info.st_mode & S_IRWXU) >> kFromOwnerToGroup);
    if (wanted != info.st_mode) static_cast<void>(fchmod(one.get(), wanted & kModes));
    if (folder_of_ours && depth < kMaxDepth) lendBelow(one, depth + 1);
  }
}

}  // namespace

Result<void> shareDir(const std::string& folder) {
  constexpr mode_t kLent = 0775;
  if (mkdir(folder.c_str(), kLent) != 0 && errno != EEXIST) return ioError("creating " + folder);
  const Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return ioError("opening " + folder);
  if (info.st_uid != geteuid())
    return Error{ErrorCode::kUsage, folder + " belongs to user " + std::to_string(info.st_uid) +
                                        "; it must be that of the helper"};
  const mode_t wanted = (info.st_mode & kModes) | S_IRWXG;
  if (fchmod(fd.get(), wanted) != 0) return ioError("opening " + folder + " to its group");
  lendBelow(fd, 0);
  return {};
}

void unshareDir(const std::string& folder) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid())
    static_cast<void>(chmod(folder.c_str(), info.st_mode & kModes & ~static_cast<mode_t>(S_IWGRP)));
}

}  // namespace divvy::helper
