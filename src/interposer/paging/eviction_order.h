// Chunks of a device in the order in which they were used last.
#pragma once

#include <cstdint>

#include "paging/chunk.h"
#include "paging/chunk_table.h"

namespace divvy::interposer {

constexpr std::uint32_t bitOf(ChunkState state) {
  return chunk_detail::bit(state);
}

// A pass over those that are in one of some states, a part of them at a time, none of them twice:
// whatever happens to them meanwhile, it ends. Of the same heat the lowest number comes first, so
// that the same ones go each time. Those that are about to be pinned
// are the hottest.
class EvictionOrder {
 public:
  enum Order : std::uint8_t { kColdest, kHottest };

  EvictionOrder(unsigned device, Order order, std::uint32_t states)
      : device_(device), order_(order), states_(states) {}

  // kNone: there are no more. It may be in another state by now.
  std::uint32_t next();

 private:
  struct Candidate {
    std::uint32_t number;
    std::uint64_t rank;  // the smallest first

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
  unsigned count_ = kMax;  // as if there were more
  bool begun_ = false;
  Candidate last_ = {};  // that was given
  Candidate of_[kMax];
};

}  // namespace divvy::interposer
