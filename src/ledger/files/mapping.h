// A tenant's file as the agent holds it: open, mapped whole, possibly shrunk by the tenant.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace divvy::ledger {

class Mapping {
 public:
  // Opens `path` read-write without following a link; it must be a plain file of at least `size`
  // bytes. kNotFound, kCorrupt (not plain, too short), kIo.
  static Result<Mapping> open(const std::filesystem::path& path, std::size_t size);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  int fd() const { return fd_; }
  std::size_t size() const { return size_; }
  // To be touched inside guarded() only.
  template <typename Page>
  Page* as() const {
    return static_cast<Page*>(memory_);
  }

  // Copies the first `size` bytes as they are now; what the file lacks becomes zeros. Returns how
  // many bytes it had.
  Result<std::size_t> copyStart(void* to, std::size_t size) const;

 private:
  Mapping(int fd, void* memory, std::size_t size) : fd_(fd), memory_(memory), size_(size) {}

  int fd_;
  void* memory_;
  std::size_t size_;
};

// Text of the current errno with what was being done in front.
Error systemError(const std::string& doing);

}  // namespace divvy::ledger
