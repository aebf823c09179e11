// A machine's files, read below a folder: its own root, or where the root of another machine (of
// the host, for who is in a container) is mounted. Links lead nowhere else: they are resolved as
// that machine would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "doctor/node_facts.h"

namespace divvy::doctor {

// How a file begins, and its size.
struct FileStart {
  std::string text;
  std::uint64_t size = 0;
};

// Everything read is bounded. Nothing is opened that is no regular file or folder: devices do
// something when they are, and pipes wait. Paths are absolute, as the machine has them.
//
// Errors: kNotFound, kIo (not ours to read), kCorrupt (no file, no folder, larger than the bound).
class RootFs {
 public:
  static constexpr std::size_t kMaxBytes = 1 << 20;
  static constexpr std::size_t kMaxEntries = 8192;

  static Result<RootFs> open(const std::string& root);

  Result<std::string> text(const std::string& path, std::size_t most = kMaxBytes) const;
  // Its first bytes, as many as `most` or as there are.
  Result<FileStart> start(const std::string& path, std::size_t most) const;
  // Names, sorted.
  Result<std::vector<std::string>> list(const std::string& path) const;
  // Of a link itself, or of what it leads to.
  Result<Place> place(const std::string& path, bool follow = true) const;
  // Where a path leads to in the end, links resolved.
  Result<std::string> resolved(const std::string& path) const;
  Result<Space> space(const std::string& path) const;
  // A folder, for those who go on from there (O_PATH).
  Result<Fd> folder(const std::string& path) const;

  const std::string& root() const { return root_; }

 private:
  RootFs(std::string root, Fd fd) : root_(std::move(root)), fd_(std::move(fd)) {}
  // A regular file; its size goes to `size`.
  Result<Fd> file(const std::string& path, std::uint64_t* size) const;
  Result<Fd> at(const std::string& path, std::uint64_t flags) const;

  std::string root_;
  Fd fd_;
};

}  // namespace divvy::doctor
