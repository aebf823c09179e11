// Bounded text on the stack: the few string operations needed without the C++ library.
#pragma once

#include <stddef.h>
#include <string.h>

namespace divvy::interposer {

// Returns the part after the last slash, or the whole name if there is none.
inline const char* baseName(const char* path) {
  const char* slash = ::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// A text of at most kCapacity - 1 characters, always terminated. Appending more makes it invalid,
// so that a truncated path is never used.
template <size_t kCapacity>
class FixedString {
 public:
  bool valid() const { return valid_; }
  const char* c_str() const { return text_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  FixedString& clear() {
    size_ = 0;
    valid_ = true;
    text_[0] = '\0';
    return *this;
  }

  FixedString& append(const char* from, size_t count) {
    if (!valid_ || count >= kCapacity - size_) {
      valid_ = false;
      return *this;
    }
    ::memcpy(text_ + size_, from, count);
    size_ += count;
    text_[size_] = '\0';
    return *this;
  }

  FixedString& append(const char* from) { return append(from, ::strlen(from)); }

 private:
  char text_[kCapacity] = {};
  size_t size_ = 0;
  bool valid_ = true;
};

}  // namespace divvy::interposer
