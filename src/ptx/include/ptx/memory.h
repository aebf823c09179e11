// The memory behind a kernel's global addresses, which the caller of a run provides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace divvy::ptx {

// Consecutive device addresses with consecutive bytes in host memory.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::byte* host = nullptr;  // of begin
  bool writable = false;
};

// Translates device addresses. Called only by the thread that steps a Run. The Run caches ranges
// until epoch() changes.
class Memory {
 public:
  virtual ~Memory() = default;
  // Sets `out` to a range that contains `address`; a larger range saves calls. Returns false if
  // nothing is mapped there. The bytes must stay valid while a Run that received them is stepped.
  virtual bool lookup(std::uint64_t address, Range* out) = 0;
  // Returns a number that changes when an earlier result of lookup() becomes invalid. Called at the
  // start of every step.
  virtual std::uint64_t epoch() { return 0; }
};

// A list of ranges, for programs without a simulated card. Addresses must be below 2^47. Not
// thread-safe.
class RangeList final : public Memory {
 public:
  // Maps `bytes` bytes of `host` at `address`. The caller owns them; they must outlive the list.
  // Ranges must not overlap.
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
