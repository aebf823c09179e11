#include "allocator/arena_units.h"

#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr std::uint32_t kWord = 64;

constexpr std::uint32_t wordsOf(std::uint32_t units) {
  return (units + kWord - 1) / kWord;
}

// Bits of the units from `from` to `until` that are in `from`'s word.
constexpr std::uint64_t maskOf(std::uint32_t from, std::uint32_t until) {
  const std::uint32_t begin = from % kWord;
  const std::uint32_t count = until - from < kWord - begin ? until - from : kWord - begin;
  return (count == kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << begin;
}

constexpr std::uint32_t nextWord(std::uint32_t from) {
  return (from / kWord + 1) * kWord;
}

}  // namespace

bool ArenaUnits::begin(std::uint32_t units) {
  const std::uint32_t words = wordsOf(units);
  if (units > capacity_) {
    const ErrnoKeeper keeper;
    // One mapping; parts that are never used take no memory.
    const std::size_t bytes = words * (2 * sizeof(Bits) + kWord * (sizeof *words_ + sizeof *ids_));
    auto* memory = static_cast<char*>(sys::mapAnonymous(bytes));
    if (memory == nullptr) return false;
    used_ = reinterpret_cast<Bits*>(memory);
    first_ = used_ + words;
    ids_ = reinterpret_cast<std::atomic<std::uint64_t>*>(first_ + words);
    words_ = reinterpret_cast<std::atomic<std::uint32_t>*>(ids_ + words * kWord);
    capacity_ = words * kWord;
  } else {
    // Former pieces no longer begin anywhere. The other words need no reset: an ID without a piece
    // is never read.
    for (std::uint32_t i = 0; i < wordsOf(capacity_); ++i) {
      for (std::uint64_t bits = first_[i].exchange(0, std::memory_order_relaxed); bits != 0;
           bits &= bits - 1) {
        words_[i * kWord + static_cast<std::uint32_t>(__builtin_ctzll(bits))].store(
            0, std::memory_order_relaxed);
      }
      used_[i].store(0, std::memory_order_relaxed);
    }
  }
  units_ = units;
  return true;
}

// The first unit from `from` on that is in use (or free, by `set`); `until` if there is none before
// it.
std::uint32_t ArenaUnits::next(bool set, std::uint32_t from, std::uint32_t until) const {
  for (; from < until; from = nextWord(from)) {
    const std::uint64_t word = used_[from / kWord].load(std::memory_order_relaxed);
    const std::uint64_t wanted = (set ? word : ~word) & maskOf(from, until);
    if (wanted == 0) continue;
    return from / kWord * kWord + static_cast<std::uint32_t>(__builtin_ctzll(wanted));
  }
  return until;
}

void ArenaUnits::clear(std::uint32_t from, std::uint32_t until) {
  for (; from < until; from = nextWord(from)) {
    used_[from / kWord].fetch_and(~maskOf(from, until), std::memory_order_release);
  }
}

// Claims all of the units, or none.
bool ArenaUnits::claim(std::uint32_t from, std::uint32_t units) {
  const std::uint32_t until = from + units;
  for (std::uint32_t at = from; at < until; at = nextWord(at)) {
    const std::uint64_t mask = maskOf(at, until);
    const std::uint64_t was = used_[at / kWord].fetch_or(mask, std::memory_order_acq_rel) & mask;
    if (was == 0) continue;
    used_[at / kWord].fetch_and(~(mask & ~was), std::memory_order_release);
    clear(from, at);
    return false;
  }
  return true;
}

std::uint32_t ArenaUnits::take(std::uint32_t bytes, std::uint64_t id) {
  const std::uint32_t units = unitsOf(bytes);
  if (bytes == 0 || bytes > kMaxBytes || units > units_) return kNone;
  for (std::uint32_t from = next(false, 0, units_); from + units <= units_;) {
    const std::uint32_t end = next(true, from, from + units);
    if (end == from + units && claim(from, units)) {
      ids_[from].store(id, std::memory_order_relaxed);
      words_[from].store(bytes | kLive, std::memory_order_release);
      first_[from / kWord].fetch_or(std::uint64_t{1} << from % kWord, std::memory_order_acq_rel);
      return from;
    }
    from = next(false, end < from + units ? end : from, units_);
  }
  return kNone;
}

std::uint32_t ArenaUnits::find(std::uint32_t unit, ArenaUnit* out) const {
  if (unit >= units_) return kNone;
  std::uint32_t at = unit / kWord;
  std::uint64_t bits = first_[at].load(std::memory_order_acquire) &
                       (~std::uint64_t{0} >> (kWord - 1 - unit % kWord));
  // A piece begins at most its maximum length before `at`.
  for (std::uint32_t back = 0; bits == 0; ++back) {
    if (at == 0 || back > unitsOf(kMaxBytes) / kWord) return kNone;
    bits = first_[--at].load(std::memory_order_acquire);
  }
  const std::uint32_t piece =
      at * kWord + kWord - 1 - static_cast<std::uint32_t>(__builtin_clzll(bits));
  const std::uint32_t word = words_[piece].load(std::memory_order_acquire);
  if ((word & kLive) == 0 || unit - piece >= unitsOf(word & kSize)) return kNone;
  *out = {word & kSize, ids_[piece].load(std::memory_order_relaxed), (word & kSync) != 0};
  return piece;
}

void ArenaUnits::setSyncMemops(std::uint32_t piece, bool set) {
  if (set) {
    words_[piece].fetch_or(kSync, std::memory_order_acq_rel);
  } else {
    words_[piece].fetch_and(~kSync, std::memory_order_acq_rel);
  }
}

bool ArenaUnits::end(std::uint32_t piece, bool doomed) {
  std::uint32_t word = words_[piece].load(std::memory_order_acquire);
  while ((word & kLive) != 0) {
    const std::uint32_t ended = (word & kSize) | (doomed ? kDoomed : 0);
    if (words_[piece].compare_exchange_weak(word, ended, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void ArenaUnits::give(std::uint32_t piece) {
  const std::uint32_t word = words_[piece].exchange(0, std::memory_order_acq_rel);
  first_[piece / kWord].fetch_and(~(std::uint64_t{1} << piece % kWord), std::memory_order_acq_rel);
  clear(piece, piece + unitsOf(word & kSize));
}

void ArenaUnits::revive(std::uint32_t piece, std::uint32_t bytes, std::uint64_t id) {
  ids_[piece].store(id, std::memory_order_relaxed);
  words_[piece].store(bytes | kLive, std::memory_order_release);
}

template <typename Visit>
void ArenaUnits::forEach(Visit visit) {
  for (std::uint32_t i = 0; i < wordsOf(units_); ++i) {
    for (std::uint64_t bits = first_[i].load(std::memory_order_acquire); bits != 0;
         bits &= bits - 1) {
      visit(i * kWord + static_cast<std::uint32_t>(__builtin_ctzll(bits)));
    }
  }
}

std::uint32_t ArenaUnits::spend() {
  std::uint32_t count = 0;
  forEach([&](std::uint32_t piece) {
    if ((words_[piece].load(std::memory_order_acquire) & kDoomed) == 0) return;
    words_[piece].fetch_xor(kDoomed | kDue, std::memory_order_acq_rel);
    ++count;
  });
  return count;
}

std::uint32_t ArenaUnits::giveDue() {
  std::uint32_t count = 0;
  forEach([&](std::uint32_t piece) {
    if ((words_[piece].load(std::memory_order_acquire) & kDue) == 0) return;
    give(piece);
    ++count;
  });
  return count;
}

}  // namespace divvy::interposer
