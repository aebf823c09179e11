// The files of a machine, read below a directory: its own root, or the mounted root of another
// machine, for example of a container's host. Links resolve within that root, as on that machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "doctor/node_facts.h"

namespace divvy::doctor {

// Beginning of a file, and its size.
struct FileStart {
  std::string text;
  std::uint64_t size = 0;
};

// All reads are bounded. Only regular files and folders are opened, because opening devices has
// effects and pipes block. Paths are absolute, as on the machine.
//
// kNotFound: absent. kIo: no permission, or another failure. kCorrupt: no file or folder, or larger
// than the bound.
class RootFs {
 public:
  static constexpr std::size_t kMaxBytes = 1 << 20;
  static constexpr std::size_t kMaxEntries = 8192;

  static Result<RootFs> open(const std::string& root);

  Result<std::string> text(const std::string& path, std::size_t most = kMaxBytes) const;
  // Returns the first bytes: `most`, or as many as there are.
  Result<FileStart> start(const std::string& path, std::size_t most) const;
  // Returns the names in a folder, sorted.
  Result<std::vector<std::string>> list(const std::string& path) const;
  // Returns the attributes of a path; of a link itself if `follow` is false.
  Result<PathInfo> infoOf(const std::string& path, bool follow = true) const;
  // Returns the path with all links resolved.
  Result<std::string> resolved(const std::string& path) const;
  Result<FileSystemSpace> space(const std::string& path) const;
  // Opens a folder with O_PATH.
  Result<Fd> folder(const std::string& path) const;

  const std::string& root() const { return root_; }

 private:
  RootFs(std::string root, Fd fd) : root_(std::move(root)), fd_(std::move(fd)) {}
  // Opens a regular file and sets `size`.
  Result<Fd> file(const std::string& path, std::uint64_t* size) const;
  Result<Fd> at(const std::string& path, std::uint64_t flags) const;

  std::string root_;
  Fd fd_;
};

}  // namespace divvy::doctor
