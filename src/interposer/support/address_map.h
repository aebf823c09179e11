// The allocations of this process on the device: maps an address (or handle) to its charge.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace divvy::interposer {

// The kind of driver call that made a block; it decides how its bytes are given back.
enum class BlockKind : std::uint8_t {
  kPlain,    // cuMemAlloc, cuMemAllocPitch
  kManaged,  // cuMemAllocManaged
  kArray,    // cuArrayCreate, cuMipmappedArrayCreate
  kContext,  // a CUcontext and its overhead
  kPooled,   // from a stream-ordered pool: `bytes` is the pool's index; the pool is charged
  kOther,    // `bytes` is another value; nothing is charged
};

// A charge of `bytes` (up to 2^48 - 1) on ledger device `device` (0..15).
struct Block {
  std::uint64_t bytes = 0;
  std::uint8_t device = 0;
  BlockKind kind = BlockKind::kPlain;
  bool operator==(const Block&) const = default;
};

// A concurrent map from a 64-bit key (below 2^64 - 2) to a Block, without lock and malloc. A signal
// handler may use the map in the middle of another operation on it. Segments of entries are mmap'ed
// and only ever added, each 4 times as large. A key is in one of a few cache lines of each segment.
// So lookup, insertion and removal cost the same with 10 or 100,000 blocks, and no tombstones
// accumulate.
//
// Callers keep one rule, which follows from the driver's own semantics. Only the thread that the
// driver just gave a key inserts it, and the key is taken before it is given back. Two live inserts
// of one key would make two entries.
class AddressMap {
 public:
  constexpr AddressMap() = default;
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  // Returns false only if no memory could be mapped; the block is unknown then.
  bool insert(std::uint64_t key, Block block);

  // Removes `key` and returns its block; false if unknown. Of several callers exactly one succeeds.
  bool take(std::uint64_t key, Block* out);

  // Reads without removing; false if unknown.
  bool find(std::uint64_t key, Block* out) const;

  // Replaces the block of a present key; false if unknown.
  bool update(std::uint64_t key, Block block);

  // Adds to the `bytes` of a present key, atomically; false if unknown.
  bool add(std::uint64_t key, std::uint64_t bytes);

  // Calls visit(context, key, block) for each entry. Entries that come or go meanwhile may or may
  // not be visited. The callback may take() the key that it is given.
  void forEach(void (*visit)(void*, std::uint64_t key, Block), void* context) const;

  // Drops all entries without unmapping, for the child of a fork, which owns none of them. Not safe
  // against concurrent use; the child has only the forking thread.
  void forgetAfterFork();

  std::size_t capacity() const;

 private:
  // Three entries in one cache line, and whether a key that belongs here went to the next bucket. A
  // search ends at the first bucket that never overflowed, which is nearly always the first bucket.
  struct alignas(64) Bucket {
    std::atomic<std::uint64_t> keys[3];    // 0 free, 1 being filled, else key + 2
    std::atomic<std::uint64_t> values[3];  // bytes:48 device:8 kind:8
    std::atomic<std::uint32_t> overflowed;
  };
  struct Place {
    Bucket* bucket;  // null: not found
    unsigned index;
  };
  static constexpr unsigned kBucketEntries = 3;
  static constexpr unsigned kProbedBuckets = 4;
  static constexpr std::size_t kFirstBuckets = 8192;  // 512 KiB of addresses, touched as needed
  static constexpr unsigned kMaxSegments = 6;         // 8 Mi buckets in the last

  static std::size_t bucketCount(unsigned segment) { return kFirstBuckets << (2 * segment); }
  static Bucket* bucketAt(Bucket* buckets, unsigned segment, std::uint64_t stored, unsigned probe);
  Place find(std::uint64_t stored) const;
  bool insertInto(unsigned segment, std::uint64_t stored, std::uint64_t value);
  bool grow(unsigned segment);

  std::atomic<Bucket*> segments_[kMaxSegments] = {};
  std::atomic<unsigned> segment_count_{0};
};

}  // namespace divvy::interposer
