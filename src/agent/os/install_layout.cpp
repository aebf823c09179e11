#include "agent/install_layout.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace divvy::agent {

Result<InstallLayout> findInstall() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (size <= 0)
    return Error{ErrorCode::kIo, std::string("reading /proc/self/exe: ") + std::strerror(errno)};
  InstallLayout install;
  install.executable = path.data();
  const std::string bin = install.executable.substr(0, install.executable.rfind('/'));
  const std::string prefix = bin.substr(0, bin.rfind('/'));
  install.lib_dir = prefix + "/lib";
  install.sim_dir = prefix + "/simgpu";
  return install;
}

Result<std::string> InstallLayout::preload() const {
  std::string list;
  for (const char* name : {"libdivvy-cuda.so", "libdivvy-nvml.so"}) {
    const std::string path = lib_dir + "/" + name;
    if (access(path.c_str(), R_OK) != 0) {
      return Error{ErrorCode::kIo, path + " cannot be read: " + std::strerror(errno) +
                                       "; it belongs beside bin/divvy"};
    }
    if (path.find_first_of(" :") != std::string::npos) {
      return Error{ErrorCode::kUnsupported,
                   "LD_PRELOAD cannot name " + path +
                       "; install Divvy where the path has no blank or colon"};
    }
    list += (list.empty() ? "" : ":") + path;
  }
  return list;
}

}  // namespace divvy::agent
