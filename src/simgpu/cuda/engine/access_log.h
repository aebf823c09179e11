// Device memory that an operation touches, as far as it is known.
#pragma once

#include "abi/cuda_types.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace divvy::simgpu {

// The bytes that a pointer of a call reaches, relative to it; unused ones have 0.
struct MemorySpan {
  CUdeviceptr begin = 0;
  std::uint64_t bytes = 0;

  bool overlaps(const MemorySpan& other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};
using MemorySpans = std::array<MemorySpan, 3>;

// For a kernel with accesses that are only known while it runs. Records the ranges that it
// accessed, and those unmapped while it was pending. So both an unmap after an access and an access
// after an unmap are detected. Not thread-safe: effects and unmaps exclude each other.
class TouchLog {
 public:
  // The range is about to be unmapped. True: the kernel has accessed part of it.
  bool consume(const MemorySpan& range);
  // The kernel accesses a contiguous range. True: it was unmapped while the kernel was pending.
  bool touch(const MemorySpan& range);

 private:
  std::vector<MemorySpan> touched_;
  std::vector<MemorySpan> taken_;
};

struct MemoryUse {
  bool known = false;
  MemorySpans spans;              // where known
  std::shared_ptr<TouchLog> log;  // where it will show

  // Whether it touches memory that is about to be unmapped. Where nothing is known: `unknown`.
  bool disturbedBy(const MemorySpan& range, bool unknown) const;
};

}  // namespace divvy::simgpu
