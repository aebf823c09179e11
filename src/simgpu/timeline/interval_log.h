// The ring of executed intervals inside a card's engine file. Written under the card's lock,
// read without it: `generation` is odd while a record changes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace divvy::simgpu {

enum class IntervalKind : std::uint8_t { kKernel, kCopyIn, kCopyOut, kCopyDevice, kMemset, kOther };

struct IntervalRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;
  std::uint32_t pid;
  std::uint32_t context_uid;
  std::uint32_t ops;  // operations that ended within
  std::uint8_t engine;
  IntervalKind kind;
  std::uint16_t reserved;
};
static_assert(sizeof(IntervalRecord) == 40);

// Enough for 2 minutes of 2 ms slices; adjoining intervals of one context share a record.
inline constexpr std::uint64_t kLogRecords = 65536;

struct IntervalLog {
  std::atomic<std::uint64_t> generation;
  std::uint64_t next;     // records ever begun; the ring holds the last kLogRecords
  std::uint64_t horizon;  // intervals before this time are all here
  std::array<IntervalRecord, kLogRecords> ring;
};

}  // namespace divvy::simgpu
