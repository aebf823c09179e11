// The memory of a load: words whose every value is known, changed by the card.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/driver.h"

namespace divvy::bench {

// Blocks of plain device memory, filled with values that follow from a seed. Each change adds 1 to
// one slice, so that bytes that got lost, stayed behind or came back old are seen in check().
class Field {
 public:
  static constexpr std::uint64_t kSlice = std::uint64_t{64} << 10;  // bytes

  // In the current context; `bytes` in all, in blocks of `block_bytes`, both multiples of kSlice.
  // Ends the program when they are not to be had.
  Field(std::uint64_t bytes, std::uint64_t block_bytes, std::uint32_t seed);

  // Adds to the next slice: of another block than the last one, so that soon all have been used.
  void change(CUstream stream);
  // The same in every block, once.
  void changeAll(CUstream stream);

  // Reads everything back: the bytes that are not what they must be.
  std::uint64_t mismatched() const;

  std::uint64_t bytes() const { return blocks_.size() * block_bytes_; }

 private:
  struct Block {
    CUdeviceptr at = 0;
    std::uint32_t value = 0;          // of every word at first
    std::vector<std::uint32_t> adds;  // by slice
  };

  CUfunction add_ = nullptr;
  std::uint64_t block_bytes_;
  std::vector<Block> blocks_;
  std::uint64_t changes_ = 0;
};

}  // namespace divvy::bench
