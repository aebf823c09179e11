// What a kernel's global addresses mean, as whoever runs it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace divvy::ptx {

// Consecutive device addresses whose bytes are consecutive in host memory.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::byte* host = nullptr;  // of begin
  bool writable = false;
};

// Called by the thread that steps a Run, and only by it. Ranges are cached until epoch() changes.
class Memory {
 public:
  virtual ~Memory() = default;
  // A range that contains `address`, as large as is convenient; false where nothing is mapped.
  // The bytes stay valid while a Run that has seen them is stepped.
  virtual bool lookup(std::uint64_t address, Range* out) = 0;
  // Moves when an answer of lookup() becomes wrong. Asked at the start of every step.
  virtual std::uint64_t epoch() { return 0; }
};

// A list of ranges, for programs that have no simulated card. Addresses below 2^47 only.
class RangeList final : public Memory {
 public:
  // `host` has `bytes` bytes and outlives the list. Ranges do not overlap.
  void add(std::uint64_t address, void* host, std::size_t bytes, bool writable = true) {
    ranges_.push_back({address, address + bytes, static_cast<std::byte*>(host), writable});
  }
  bool lookup(std::uint64_t address, Range* out) override {
    for (const Range& range : ranges_) {
      if (address < range.begin || address >= range.end) continue;
      *out = range;
      return true;
    }
    return false;
  }

 private:
  std::vector<Range> ranges_;
};

}  // namespace divvy::ptx
