// A tenant's file, as the agent holds it: open, mapped whole, possibly shrunk by the tenant.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace divvy::ledger {

class Mapping {
 public:
  // Opens `path` read-write without following a link. kNotFound. kCorrupt: not a plain file, or
  // shorter than `size` bytes. kIo.
  static Result<Mapping> open(const std::filesystem::path& path, std::size_t size);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  int fd() const { return fd_; }
  std::size_t size() const { return size_; }
  // The memory may be touched only inside guarded().
  template <typename Page>
  Page* as() const {
    return static_cast<Page*>(memory_);
  }

  // Copies the first `size` bytes as they are now; bytes beyond the end of the file become zeros.
  // Returns the number of bytes that the file had. kIo.
  Result<std::size_t> copyStart(void* to, std::size_t size) const;

 private:
  Mapping(int fd, void* memory, std::size_t size) : fd_(fd), memory_(memory), size_(size) {}

  int fd_;
  void* memory_;
  std::size_t size_;
};

// The text of the current errno after `doing`. kNotFound for ENOENT and ENOTDIR, else kIo.
Error systemError(const std::string& doing);

}  // namespace divvy::ledger
