#include "agent/node.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace divvy::agent {
namespace {

// "/sim-<24>/reg/register.sock" must still fit into the 107 bytes of a socket address.
constexpr std::size_t kMaxRootLength = 60;
constexpr std::size_t kMaxProfileLength = 24;

bool isProfileChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

std::string value(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

// Returns whether the directory was created.
Result<bool> makePrivateDir(const std::string& path) {
  bool made = false;
  if (mkdir(path.c_str(), 0700) == 0) {
    made = true;
  } else if (errno != EEXIST) {
    return ioError("creating runtime directory " + path).context("cannot start the agent");
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return ioError("reading runtime directory " + path);
  if (!S_ISDIR(info.st_mode))
    return Error{ErrorCode::kIo, "runtime directory " + path + " is not a directory"};
  const bool ours = info.st_uid == geteuid() && (info.st_mode & 022) == 0;
  // Owned by root and shared with our group (`divvy agent-helper`).
  const bool lent = info.st_uid == 0 && info.st_gid == getegid() && (info.st_mode & 002) == 0;
  if (!ours && !lent) {
    return Error{ErrorCode::kIo,
                 "runtime directory " + path +
                     " is writable by others; run chmod 700, or set DIVVY_RUNTIME_DIR"};
  }
  return made;
}

}  // namespace

Result<Node> parseNode(std::string_view name) {
  if (name == "gpu") return Node{};
  const std::string_view profile = name.starts_with("sim-") ? name.substr(4) : std::string_view();
  if (profile.empty() || profile.size() > kMaxProfileLength || profile[0] == '.' ||
      !std::all_of(profile.begin(), profile.end(), isProfileChar)) {
    return Error{ErrorCode::kUsage,
                 "node \"" + std::string(name) + "\" is not known; accepted: gpu, sim-<profile>"};
  }
  return Node{std::string(name)};
}

bool runtimeRootIsNamed() {
  return !value("DIVVY_RUNTIME_DIR").empty();
}

Result<std::string> runtimeRoot() {
  std::string root = value("DIVVY_RUNTIME_DIR");
  if (root.empty()) {
    const std::string session = value("XDG_RUNTIME_DIR");
    root =
        session.starts_with('/') ? session + "/divvy" : "/tmp/divvy-" + std::to_string(geteuid());
  }
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  if (!root.starts_with('/')) {
    return Error{ErrorCode::kUsage,
                 "DIVVY_RUNTIME_DIR \"" + root + "\" is relative; an absolute path is accepted"};
  }
  if (root.size() > kMaxRootLength) {
    return Error{ErrorCode::kUsage,
                 "runtime directory " + root + " is too long for a socket; at most " +
                     std::to_string(kMaxRootLength) + " characters are accepted"};
  }
  return root;
}

Result<CreatedDirs> makeNodeDir(const NodePaths& paths) {
  CreatedDirs made;
  Result<bool> root = makePrivateDir(paths.root());
  if (!root) return root.error();
  made.made_root = *root;
  Result<bool> dir = makePrivateDir(paths.dir());
  if (!dir) {
    if (made.made_root) rmdir(paths.root().c_str());
    return dir.error();
  }
  made.made_dir = *dir;
  return made;
}

}  // namespace divvy::agent
