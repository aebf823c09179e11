// A file descriptor with an owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace divvy {

// Owns one file descriptor, or none (-1), and closes it at its end. Movable, not copyable.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  bool valid() const { return fd_ >= 0; }
  // Returns the descriptor, which this object still owns; -1: none.
  int get() const { return fd_; }
  // Returns the descriptor and gives its ownership to the caller.
  int release() { return std::exchange(fd_, -1); }
  // Closes the descriptor, if there is one.
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace divvy
