#include "base/folder_mode.h"

#include <sys/stat.h>

namespace divvy {
namespace {

mode_t modeBelow(const struct stat& folder, mode_t mode) {
  constexpr unsigned kFromOwnerToGroup = 3;
  return (folder.st_mode & S_IWGRP) == 0 ? mode : mode | ((mode & S_IRWXU) >> kFromOwnerToGroup);
}

}  // namespace

mode_t modeIn(int folder, mode_t mode) {
  struct stat info {};
  return fstat(folder, &info) == 0 ? modeBelow(info, mode) : mode;
}

mode_t modeIn(const std::string& folder, mode_t mode) {
  struct stat info {};
  return stat(folder.c_str(), &info) == 0 ? modeBelow(info, mode) : mode;
}

bool allow(const std::string& path, mode_t mode) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return false;
  return (info.st_mode & mode) == mode || chmod(path.c_str(), (info.st_mode | mode) & 07777) == 0;
}

}  // namespace divvy
