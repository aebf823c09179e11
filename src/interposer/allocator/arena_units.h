// What of one arena is in use: pieces of it, each a run of units.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// No lock, no driver call; any thread, any signal handler. A piece is named by its first unit.
// Members of one that was never begun are zero.
class ArenaUnits {
 public:
  static constexpr std::uint64_t kUnit = 512;  // bytes: what the driver aligns blocks to
  static constexpr std::uint64_t kMaxBytes = (std::uint64_t{1} << 24) - 1;  // of one piece
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // What a piece was asked for, and what it is called.
  struct ArenaUnit {
    std::uint32_t bytes;
    std::uint64_t id;
    bool sync_memops;
  };

  // Bytes that so many take.
  static constexpr std::uint64_t roomOf(std::uint64_t bytes) {
    return (bytes + kUnit - 1) / kUnit * kUnit;
  }

  // Starts over with so many units, all of them free; nobody else is in here. False: no memory.
  bool begin(std::uint32_t units);

  // A piece of `bytes` (1 to kMaxBytes), in use from now on; kNone: there is no such room.
  std::uint32_t take(std::uint32_t bytes, std::uint64_t id);
  // The piece in use that the unit is part of; kNone: it is free.
  std::uint32_t find(std::uint32_t unit, ArenaUnit* out) const;
  void setSyncMemops(std::uint32_t piece, bool set);

  // Ends the use of a piece: of several that try, one succeeds. Its room stays taken until
  // give(); `doomed`: until it was told by spend() and then giveDue().
  bool end(std::uint32_t piece, bool doomed);
  void give(std::uint32_t piece);
  // Or it is used again instead, for `bytes` that need as many units.
  void revive(std::uint32_t piece, std::uint32_t bytes, std::uint64_t id);
  // How many are doomed and not due yet: they are due from now on.
  std::uint32_t spend();
  // Gives what is due; how many those were.
  std::uint32_t giveDue();

 private:
  using Bits = std::atomic<std::uint64_t>;

  // Of a piece's first unit; below them the bytes that were asked for. 0: none begins there.
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
  Bits* used_;                         // a bit of every unit
  Bits* first_;                        // of the first of every piece
  std::atomic<std::uint32_t>* words_;  // by unit
  std::atomic<std::uint64_t>* ids_;    // by unit
};

}  // namespace divvy::interposer
