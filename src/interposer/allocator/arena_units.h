// The parts of an arena that are in use: pieces, each a run of units.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// No lock and no driver call. Any thread and signal handler. The first unit names a piece. All
// members are zero before the first begin().
class ArenaUnits {
 public:
  static constexpr std::uint64_t kUnit = 512;  // bytes: the driver's alignment of blocks
  static constexpr std::uint64_t kMaxBytes = (std::uint64_t{1} << 24) - 1;  // of one piece
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The requested size of a piece, and its ID.
  struct ArenaUnit {
    std::uint32_t bytes;
    std::uint64_t id;
    bool sync_memops;
  };

  // Returns the bytes that a piece of `bytes` takes.
  static constexpr std::uint64_t roomOf(std::uint64_t bytes) {
    return (bytes + kUnit - 1) / kUnit * kUnit;
  }

  // Starts again with `units` free units; no other thread may use the object. Returns false if
  // there is no memory.
  bool begin(std::uint32_t units);

  // Returns a new piece of `bytes` (1 to kMaxBytes), in use from now on; kNone if there is no room.
  std::uint32_t take(std::uint32_t bytes, std::uint64_t id);
  // Returns the piece in use that contains the unit; kNone if the unit is free.
  std::uint32_t find(std::uint32_t unit, ArenaUnit* out) const;
  void setSyncMemops(std::uint32_t piece, bool set);

  // Ends the use of a piece; of several threads that try, one succeeds. Its room stays taken until
  // give(). If `doomed`, until spend() has counted it and then giveDue() frees it.
  bool end(std::uint32_t piece, bool doomed);
  void give(std::uint32_t piece);
  // Uses an ended piece again, for `bytes` that need as many units.
  void revive(std::uint32_t piece, std::uint32_t bytes, std::uint64_t id);
  // Makes doomed pieces due and returns how many they were.
  std::uint32_t spend();
  // Frees the pieces that are due and returns how many they were.
  std::uint32_t giveDue();

 private:
  using Bits = std::atomic<std::uint64_t>;

  // Bits of the word of a piece's first unit, above the requested bytes. A word of 0: no piece
  // begins there.
  static constexpr std::uint32_t kSize = (std::uint32_t{1} << 24) - 1;
  static constexpr std::uint32_t kLive = std::uint32_t{1} << 24;
  static constexpr std::uint32_t kSync = std::uint32_t{1} << 25;
  static constexpr std::uint32_t kDoomed = std::uint32_t{1} << 26;
  static constexpr std::uint32_t kDue = std::uint32_t{1} << 27;

  static std::uint32_t unitsOf(std::uint64_t bytes) {
    return static_cast<std::uint32_t>((bytes + kUnit - 1) / kUnit);
  }
  std::uint32_t next(bool set, std::uint32_t from, std::uint32_t until) const;
  bool claim(std::uint32_t from, std::uint32_t units);
  void clear(std::uint32_t from, std::uint32_t until);
  template <typename Visit>
  void forEach(Visit visit);

  std::uint32_t units_;
  std::uint32_t capacity_;
  Bits* used_;                         // a bit for each unit
  Bits* first_;                        // a bit for each piece, at its first unit
  std::atomic<std::uint32_t>* words_;  // by unit
  std::atomic<std::uint64_t>* ids_;    // by unit
};

}  // namespace divvy::interposer
