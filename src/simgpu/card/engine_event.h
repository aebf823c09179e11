// Events that several processes see: marks in a card's engine file. The process that records one
// writes down the operation; other processes query the timeline about it.
#pragma once

#include <cstdint>

namespace divvy::simgpu {

inline constexpr std::uint32_t kMaxSharedEvents = 4096;

// In the file, guarded by the card's lock.
struct SharedEvent {
  std::uint64_t id;  // 0: free; never given twice
  std::uint64_t generation;
  std::uint32_t record;  // the process that made it: its record in the card file, as in Lane
  std::uint32_t padding;
  std::uint64_t ref;     // OpRef of the last record, 0: never recorded
  std::uint64_t end_ns;  // of `ref`, once it has ended
};

// Identifies an event; never reused. The default identifies none.
struct SharedEventName {
  std::uint64_t id = 0;
  std::uint32_t slot = 0;
};

}  // namespace divvy::simgpu
