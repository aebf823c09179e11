// A buffer for a list of unknown length, without malloc.
#pragma once

#include "support/syscalls.h"

namespace divvy::interposer {

// Anonymous memory for `capacity` rows, given back at the end of the scope. Only touched pages cost
// memory. Empty (capacity() == 0) if the kernel refuses.
template <typename Row>
class MmapBuffer {
 public:
  explicit MmapBuffer(unsigned capacity) { map(capacity); }
  ~MmapBuffer() { unmap(); }
  MmapBuffer(const MmapBuffer&) = delete;
  MmapBuffer& operator=(const MmapBuffer&) = delete;

  // Discards the contents. Returns false if there is no memory; the buffer is empty then.
  bool grow(unsigned capacity) {
    unmap();
    map(capacity);
    return rows_ != nullptr;
  }

  Row* rows() { return rows_; }
  const Row* rows() const { return rows_; }
  unsigned capacity() const { return capacity_; }

 private:
  void map(unsigned capacity) {
    rows_ = static_cast<Row*>(sys::mapAnonymous(sizeof(Row) * capacity));
    capacity_ = rows_ == nullptr ? 0 : capacity;
  }
  void unmap() {
    if (rows_ != nullptr) sys::unmap(rows_, sizeof(Row) * capacity_);
    rows_ = nullptr;
    capacity_ = 0;
  }

  Row* rows_ = nullptr;
  unsigned capacity_ = 0;
};

// Sizes of a driver's list; a list longer than kMaxRows is an error.
inline constexpr unsigned kUsualRows = 1024;
inline constexpr unsigned kMaxRows = 65536;

}  // namespace divvy::interposer
