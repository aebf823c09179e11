// The chunks of a device in the order of their last use.
#pragma once

#include <cstdint>

#include "paging/chunk.h"
#include "paging/chunk_table.h"

namespace divvy::interposer {

constexpr std::uint32_t bitOf(ChunkState state) {
  return chunk_detail::bit(state);
}

// A pass over the chunks of a device that are in one of `states`. It reads a part of them at a time
// and returns no chunk twice, so it ends whatever happens to the chunks meanwhile. Chunks of equal
// rank come in ascending order of number, so that equal passes choose equal chunks. Chunks that are
// about to be pinned are the hottest.
class EvictionOrder {
 public:
  enum Order : std::uint8_t { kColdest, kHottest };

  EvictionOrder(unsigned device, Order order, std::uint32_t states)
      : device_(device), order_(order), states_(states) {}

  // Returns the number of the next chunk, which may be in another state by now; kNone at the end.
  std::uint32_t next();

 private:
  struct Candidate {
    std::uint32_t number;
    std::uint64_t rank;  // smallest first

    bool operator<(const Candidate& other) const {
      return rank < other.rank || (rank == other.rank && number < other.number);
    }
  };
  static constexpr unsigned kMax = 256;

  void look();
  void insert(Candidate candidate);

  unsigned device_;
  Order order_;
  std::uint32_t states_;
  unsigned at_ = 0;
  unsigned count_ = kMax;  // kMax at first, so that next() searches for more
  bool begun_ = false;
  Candidate last_ = {};  // the latest that next() returned
  Candidate of_[kMax];
};

}  // namespace divvy::interposer
