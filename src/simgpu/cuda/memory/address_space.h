// Free and used parts of a range of numbers: addresses, or offsets in a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace divvy::simgpu {

// Best fit, neighbours merge on release; logarithmic in the number of holes. Not thread-safe.
class AddressSpace {
 public:
  void reset(std::uint64_t begin, std::uint64_t end);

  // `alignment` is a power of two. nullopt: no hole is large enough.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment);
  // Takes exactly [at, at + bytes). False: not all of it is free.
  bool allocateAt(std::uint64_t at, std::uint64_t bytes);
  // Gives back a taken range, whole or in parts.
  void release(std::uint64_t at, std::uint64_t bytes);

  bool wholeFree() const;
  std::uint64_t freeBytes() const { return free_bytes_; }

 private:
  using Hole = std::map<std::uint64_t, std::uint64_t>::iterator;
  void addHole(std::uint64_t at, std::uint64_t bytes);
  void removeHole(Hole hole);
  void carve(Hole hole, std::uint64_t at, std::uint64_t bytes);

  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t free_bytes_ = 0;
  std::map<std::uint64_t, std::uint64_t> holes_;                     // begin -> length
  std::set<std::pair<std::uint64_t, std::uint64_t>> holes_by_size_;  // (length, begin)
};

}  // namespace divvy::simgpu
