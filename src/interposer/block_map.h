// What one process holds on the device: address (or handle) -> what was charged for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace divvy::interposer {

// What the driver call was that made a block; decides how its bytes are given back.
enum class BlockKind : std::uint8_t {
  kPlain,    // cuMemAlloc, cuMemAllocPitch
  kManaged,  // cuMemAllocManaged
  kArray,    // cuArrayCreate, cuMipmappedArrayCreate
  kContext,  // a CUcontext and its overhead
  kPooled,   // from a stream-ordered pool: `bytes` is the pool's index, the pool pays
  kOther,
};

// A charge of `bytes` (up to 2^48 - 1) on ledger device `device` (0..15).
struct Block {
  std::uint64_t bytes = 0;
  std::uint8_t device = 0;
  BlockKind kind = BlockKind::kPlain;
  bool operator==(const Block&) const = default;
};

// A concurrent map from a 64-bit key (below 2^64 - 2) to a Block: no lock, no malloc, and an
// operation that is interrupted in the middle by a signal handler using the same map does no harm.
// Segments of entries are mmap'ed and only ever added (x4 each); a key lives in one of a few cache
// lines per segment, so that look-up, insertion and removal cost the same with 10 or 100,000 blocks
// and no tombstones build up.
//
// The caller keeps one rule, which the driver's own semantics give for free: a key is inserted only
// by whoever the driver just handed it to, and taken before it is given back. Two live inserts of
// one key would make two entries.
class BlockMap {
 public:
  constexpr BlockMap() = default;
  BlockMap(const BlockMap&) = delete;
  BlockMap& operator=(const BlockMap&) = delete;

  // False only if no memory could be mapped (the block is then unknown).
  bool insert(std::uint64_t key, Block block);

  // Removes `key` and gives its block; false if unknown. Of several takers exactly one succeeds.
  bool take(std::uint64_t key, Block* out);

  // Reads without removing; false if unknown.
  bool find(std::uint64_t key, Block* out) const;

  // Replaces the block of a present key; false if unknown.
  bool update(std::uint64_t key, Block block);

  // Adds to the `bytes` of a present key, atomically; false if unknown.
  bool add(std::uint64_t key, std::uint64_t bytes);

  // Calls visit(context, key, block) for each entry seen; entries that come or go meanwhile may or
  // may not be seen. The callback may take() the key it is given.
  void forEach(void (*visit)(void*, std::uint64_t key, Block), void* context) const;

  // Forgets everything without unmapping: for the child of a fork, which owns none of it.
  // Not safe against concurrent use; only the forking thread exists in the child.
  void forgetAfterFork();

  std::size_t capacity() const;

 private:
  struct Entry {
    std::atomic<std::uint64_t> key;    // 0 free, 1 being filled, else key + 2
    std::atomic<std::uint64_t> value;  // bytes:48 device:8 kind:8
  };
  static constexpr std::size_t kBucketEntries = 4;  // one cache line
  static constexpr std::size_t kProbedBuckets = 2;
  static constexpr std::size_t kFirstBuckets = 1024;  // 64 KiB
  static constexpr unsigned kMostSegments = 8;        // 16 Mi buckets in the last

  static std::size_t bucketCount(unsigned segment) { return kFirstBuckets << (2 * segment); }
  static Entry* bucketAt(Entry* entries, unsigned segment, std::uint64_t key, std::size_t probe);
  Entry* findEntry(std::uint64_t key) const;
  bool insertInto(unsigned segment, std::uint64_t key, std::uint64_t value);
  bool grow(unsigned segment);

  std::atomic<Entry*> segments_[kMostSegments] = {};
  std::atomic<unsigned> segment_count_{0};
};

}  // namespace divvy::interposer
