#include "cuda/memory/poison.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "card/populate.h"
#include "cuda/memory/memory.h"

namespace divvy::simgpu {
namespace {

// From this size on a call for all pages is cheaper than a fault for each.
constexpr std::uint64_t kManyPages = 256 << 10;

}  // namespace

bool PoisonBits::touched(std::uint64_t chunk) const {
  return (word(chunk).load(std::memory_order_acquire) & doneBit(chunk)) != 0;
}

void PoisonBits::lay(std::uint64_t chunk, std::byte* host) const {
  const std::uint64_t before = word(chunk).fetch_or(layingBit(chunk), std::memory_order_acq_rel);
  if ((before & layingBit(chunk)) != 0) {
    // Another thread lays the pattern, perhaps in another process, which may die meanwhile.
    for (int tries = 0; tries < 1'000'000; ++tries) {
      if (touched(chunk)) return;
      sched_yield();
    }
  }
  if (host != nullptr) std::memset(host, kPoison, kPoisonChunk);
  word(chunk).fetch_or(doneBit(chunk), std::memory_order_release);
}

void PoisonBits::touch(std::uint64_t offset, std::uint64_t bytes, std::byte* host) const {
  if (bytes == 0) return;
  const std::uint64_t last = (offset + bytes - 1) / kPoisonChunk;
  for (std::uint64_t chunk = offset / kPoisonChunk; chunk <= last; ++chunk) {
    if (!touched(chunk)) lay(chunk, host + (chunk * kPoisonChunk - offset));
  }
}

void PoisonBits::touchForOverwrite(std::uint64_t offset, std::uint64_t bytes,
                                   std::byte* host) const {
  if (bytes == 0) return;
  const std::uint64_t end = offset + bytes;
  bool fresh = false;
  for (std::uint64_t chunk = offset / kPoisonChunk; chunk * kPoisonChunk < end; ++chunk) {
    if (touched(chunk)) continue;
    if (!std::exchange(fresh, true) && bytes >= kManyPages) populate(host, bytes);
    const std::uint64_t begin = chunk * kPoisonChunk;
    const bool whole = begin >= offset && begin + kPoisonChunk <= end;
    lay(chunk, whole ? nullptr : host + (begin - offset));
  }
}

void PoisonBits::markTouched(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t last = (offset + bytes - 1) / kPoisonChunk;
  for (std::uint64_t chunk = offset / kPoisonChunk; chunk <= last; ++chunk) {
    word(chunk).fetch_or(layingBit(chunk) | doneBit(chunk), std::memory_order_release);
  }
}

void PoisonBits::repoison(std::uint64_t offset, std::uint64_t bytes, std::byte* host) const {
  for (std::uint64_t at = offset; at < offset + bytes;) {
    const std::uint64_t chunk = at / kPoisonChunk;
    const std::uint64_t stop = std::min((chunk + 1) * kPoisonChunk, offset + bytes);
    if (touched(chunk)) std::memset(host + (at - offset), kPoison, stop - at);
    at = stop;
  }
}

bool PoisonBits::clear(std::uint64_t offset, std::uint64_t bytes) const {
  bool any = false;
  const std::uint64_t first = (offset + kPoisonChunk - 1) / kPoisonChunk;
  const std::uint64_t end = (offset + bytes) / kPoisonChunk;
  for (std::uint64_t chunk = first; chunk < end; ++chunk) {
    if (!touched(chunk)) continue;
    word(chunk).fetch_and(~(layingBit(chunk) | doneBit(chunk)), std::memory_order_acq_rel);
    any = true;
  }
  return any;
}

}  // namespace divvy::simgpu
