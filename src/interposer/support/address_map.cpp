#include "support/address_map.h"

#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kFree = 0;
constexpr std::uint64_t kFilling = 1;
constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << 48) - 1;

std::uint64_t pack(Block block) {
  return (block.bytes & kBytesMask) | std::uint64_t{block.device} << 48 |
         static_cast<std::uint64_t>(block.kind) << 56;
}

Block unpack(std::uint64_t value) {
  Block block;
  block.bytes = value & kBytesMask;
  block.device = static_cast<std::uint8_t>(value >> 48);
  block.kind = static_cast<BlockKind>(value >> 56);
  return block;
}

// Fibonacci hashing: addresses differ in their middle bits, small handles in the lowest; the
// product's high bits depend on all of them.
std::uint64_t hash(std::uint64_t stored) {
  return (stored * 0x9E3779B97F4A7C15u) >> 40;
}

// Stored keys leave out the two marks.
std::uint64_t store(std::uint64_t key) {
  return key + 2;
}

}  // namespace

AddressMap::Bucket* AddressMap::bucketAt(Bucket* buckets, unsigned segment, std::uint64_t stored,
                                         unsigned probe) {
  return buckets + ((hash(stored) + probe) & (bucketCount(segment) - 1));
}

// The newest (largest) segment first, because it has nearly all blocks.
AddressMap::Place AddressMap::find(std::uint64_t stored) const {
  for (unsigned i = segment_count_.load(std::memory_order_acquire); i-- > 0;) {
    Bucket* buckets = segments_[i].load(std::memory_order_acquire);
    for (unsigned probe = 0; probe < kProbedBuckets; ++probe) {
      Bucket* bucket = bucketAt(buckets, i, stored, probe);
      for (unsigned j = 0; j < kBucketEntries; ++j) {
        if (bucket->keys[j].load(std::memory_order_acquire) == stored) return {bucket, j};
      }
      if (bucket->overflowed.load(std::memory_order_acquire) == 0) break;
    }
  }
  return {nullptr, 0};
}

bool AddressMap::insertInto(unsigned segment, std::uint64_t stored, std::uint64_t value) {
  Bucket* buckets = segments_[segment].load(std::memory_order_acquire);
  for (unsigned probe = 0; probe < kProbedBuckets; ++probe) {
    Bucket* bucket = bucketAt(buckets, segment, stored, probe);
    for (unsigned j = 0; j < kBucketEntries; ++j) {
      std::uint64_t expected = kFree;
      if (bucket->keys[j].load(std::memory_order_relaxed) != kFree ||
          !bucket->keys[j].compare_exchange_strong(expected, kFilling, std::memory_order_acquire)) {
        continue;
      }
      bucket->values[j].store(value, std::memory_order_relaxed);
      bucket->keys[j].store(stored, std::memory_order_release);
      return true;
    }
    // Precedes storing the key further on.
    if (bucket->overflowed.load(std::memory_order_relaxed) == 0) {
      bucket->overflowed.store(1, std::memory_order_release);
    }
  }
  return false;
}

bool AddressMap::grow(unsigned segment) {
  if (segment >= kMaxSegments) return false;
  const ErrnoKeeper keeper;
  const std::size_t size = bucketCount(segment) * sizeof(Bucket);
  auto* fresh = static_cast<Bucket*>(sys::mapAnonymous(size));
  if (fresh == nullptr) return false;
  Bucket* expected = nullptr;
  if (!segments_[segment].compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) {
    sys::unmap(fresh, size);  // another thread was first
  }
  unsigned count = segment;
  segment_count_.compare_exchange_strong(count, segment + 1, std::memory_order_acq_rel);
  return true;
}

bool AddressMap::insert(std::uint64_t key, Block block) {
  const std::uint64_t stored = store(key);
  const std::uint64_t value = pack(block);
  for (;;) {
    const unsigned count = segment_count_.load(std::memory_order_acquire);
    for (unsigned i = count; i-- > 0;) {
      if (insertInto(i, stored, value)) return true;
    }
    if (!grow(count)) return false;
  }
}

bool AddressMap::take(std::uint64_t key, Block* out) {
  const Place place = find(store(key));
  if (place.bucket == nullptr) return false;
  const std::uint64_t value = place.bucket->values[place.index].load(std::memory_order_relaxed);
  std::uint64_t expected = store(key);
  if (!place.bucket->keys[place.index].compare_exchange_strong(expected, kFree,
                                                               std::memory_order_acq_rel)) {
    return false;
  }
  *out = unpack(value);
  return true;
}

bool AddressMap::find(std::uint64_t key, Block* out) const {
  const Place place = find(store(key));
  if (place.bucket == nullptr) return false;
  *out = unpack(place.bucket->values[place.index].load(std::memory_order_relaxed));
  return true;
}

bool AddressMap::update(std::uint64_t key, Block block) {
  const Place place = find(store(key));
  if (place.bucket == nullptr) return false;
  place.bucket->values[place.index].store(pack(block), std::memory_order_relaxed);
  return true;
}

bool AddressMap::add(std::uint64_t key, std::uint64_t bytes) {
  const Place place = find(store(key));
  if (place.bucket == nullptr) return false;
  std::atomic<std::uint64_t>& word = place.bucket->values[place.index];
  std::uint64_t value = word.load(std::memory_order_relaxed);
  std::uint64_t sum;
  do {
    Block block = unpack(value);
    block.bytes += bytes;
    sum = pack(block);
  } while (!word.compare_exchange_weak(value, sum, std::memory_order_acq_rel));
  return true;
}

void AddressMap::forEach(void (*visit)(void*, std::uint64_t key, Block), void* context) const {
  const unsigned count = segment_count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const Bucket* buckets = segments_[i].load(std::memory_order_acquire);
    for (std::size_t j = 0; j < bucketCount(i) * kBucketEntries; ++j) {
      const Bucket& bucket = buckets[j / kBucketEntries];
      const std::uint64_t stored = bucket.keys[j % kBucketEntries].load(std::memory_order_acquire);
      if (stored == kFree || stored == kFilling) continue;
      const auto& value = bucket.values[j % kBucketEntries];
      visit(context, stored - 2, unpack(value.load(std::memory_order_relaxed)));
    }
  }
}

void AddressMap::forgetAfterFork() {
  segment_count_.store(0, std::memory_order_relaxed);
  for (auto& segment : segments_) segment.store(nullptr, std::memory_order_relaxed);
}

std::size_t AddressMap::capacity() const {
  std::size_t entries = 0;
  const unsigned count = segment_count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) entries += bucketCount(i) * kBucketEntries;
  return entries;
}

}  // namespace divvy::interposer
