#include "paging/access_recency.h"

#include "runtime.h"
#include "threads/thread_state.h"

constinit thread_local divvy::interposer::ThreadAccess divvy_use{};

namespace divvy::interposer {

using abi::Cu;

// ---- launches ----------------------------------------------------------------------------------

// Chooses how many of this thread's next launches are not examined.
void AccessRecency::decide() {
  ThreadAccess& thread = divvy_use;
  const std::uint32_t period = period_.load(std::memory_order_relaxed);
  if (thread.period != period) {
    thread.period = period;
    thread.looked = 0;
  }
  if (thread.looked < kAll) {
    ++thread.looked;
    return;
  }
  std::uint32_t random = thread.random == 0 ? 0x9E3779B9u : thread.random;
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  thread.random = random;
  thread.skip = kSampling / 2 + random % kSampling;
}

// CUDA_ERROR_INVALID_VALUE: there is no such parameter. The handle may be a context-less kernel.
CUresult AccessRecency::ask(CUfunction function, unsigned index, std::size_t* offset,
                            std::size_t* size) {
  const CUresult result = real<Cu::cuFuncGetParamInfo>()(function, index, offset, size);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE) return result;
  return real<Cu::cuKernelGetParamInfo>()(reinterpret_cast<CUkernel>(function), index, offset,
                                          size);
}

// Returns false if the driver does not report the sizes.
bool AccessRecency::sizesOf(CUfunction function, ParamSizes* out) {
  if (!runtime().driver.saysParams()) return false;
  const auto key = reinterpret_cast<std::uint64_t>(function);
  std::size_t offset = 0, size = 0;
  if (params_.find(key, out)) {
    if (out->count == 0) return true;
    const unsigned last = out->count - 1u;
    if (ask(function, last, &offset, &size) == CUDA_SUCCESS && offset == out->last_offset &&
        size == out->of[last]) {
      return true;
    }
  }
  ParamSizes found;
  CUresult result = ask(function, 0, &offset, &size);
  while (result == CUDA_SUCCESS && found.count < ParamSizes::kMax) {
    found.of[found.count++] = static_cast<std::uint16_t>(size);
    found.last_offset = static_cast<std::uint16_t>(offset);
    result = ask(function, found.count, &offset, &size);
  }
  found.more = result != CUDA_ERROR_INVALID_VALUE;
  if (found.more && found.count == 0) return false;
  params_.keep(key, found);
  *out = found;
  return true;
}

// Calls visit(place, chunk) for the chunks at the addresses from one to another, until it returns
// false. It may skip a chunk that is smaller than its neighbours.
template <typename Visit>
void AccessRecency::forRange(std::uint64_t address, std::uint64_t last, Visit visit) {
  ChunkTable& chunks = runtime().chunks;
  for (unsigned step = 0; step < kMaxSteps && address <= last; ++step) {
    ChunkTable::Place place;
    if (!chunks.find(address, &place)) return;
    Chunk& chunk = chunks.chunk(place.chunk);
    const std::uint64_t bytes = __atomic_load_n(&chunk.bytes, __ATOMIC_RELAXED);
    if (!visit(place, chunk) || bytes == 0 || bytes > UINT64_MAX - address) return;
    address += bytes;
  }
}

// Memory that the application mapped itself may be one array of several blocks; other memory ends
// with its block.
void AccessRecency::noteAddress(std::uint64_t address, std::uint64_t now) {
  ChunkTable& chunks = runtime().chunks;
  ChunkTable::Place first;
  if (!chunks.mayHold(address) || !chunks.find(address, &first)) return;
  Chunk& named = chunks.chunk(first.chunk);
  const std::uint64_t before = named.named.exchange(now, std::memory_order_relaxed);
  named.last_use.store(now, std::memory_order_relaxed);
  if (before > clock_seen_.load(std::memory_order_relaxed)) return;  // already in this period
  const SwapBlock& block = chunks.block(first.block);
  const bool own = address - block.address < block.reserved;
  forRange(address, UINT64_MAX, [&](const ChunkTable::Place& place, Chunk& chunk) {
    if (place.chunk == first.chunk) return true;
    const std::uint64_t also = chunk.named.load(std::memory_order_relaxed);
    if ((own && place.block != first.block) || (also != 0 && !isCold(also))) return false;
    chunk.behind.store(now, std::memory_order_relaxed);
    return true;
  });
}

void AccessRecency::noteLaunch(CUfunction function, void* const* params, void* const* extra) {
  // The driver may load code, which a capture does not permit.
  if (divvy_thread.callback || divvy_thread.forking || runtime().captures.open()) return;
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  decide();
  const std::uint64_t now = next();
  const auto note = [&](std::uint64_t value) { noteAddress(value, now); };
  if (!visit(function, params, extra, note)) noteUnknown();
}

void AccessRecency::noteRange(std::uint64_t address, std::uint64_t bytes) {
  ChunkTable& chunks = runtime().chunks;
  const std::uint64_t last = address + bytes - 1;
  if (bytes == 0 || last < address || !chunks.mayHold(address)) return;
  const std::uint64_t now = next();
  const auto use = [&](const ChunkTable::Place&, Chunk& chunk) {
    chunk.last_use.store(now, std::memory_order_relaxed);
    return true;
  };
  forRange(address, last, use);
  forRange(last, last, use);
}

// ---- pagers ------------------------------------------------------------------------------------

AccessRecency::AccessClass AccessRecency::warmth(const Chunk& chunk) const {
  if (!isCold(chunk.last_use.load(std::memory_order_relaxed))) return AccessClass::kUsed;
  return isCold(chunk.behind.load(std::memory_order_relaxed)) ? AccessClass::kCold
                                                              : AccessClass::kWarm;
}

bool AccessRecency::isHot(const Chunk& chunk) const {
  const auto& instant = warmth(chunk) == AccessClass::kUsed ? chunk.last_use : chunk.behind;
  return instant.load(std::memory_order_relaxed) > hot_.load(std::memory_order_relaxed);
}

std::uint64_t AccessRecency::rank(const Chunk& chunk) const {
  constexpr unsigned kInstantBits = 56;
  const std::uint64_t used = chunk.last_use.load(std::memory_order_relaxed);
  const std::uint64_t behind = chunk.behind.load(std::memory_order_relaxed);
  return static_cast<std::uint64_t>(warmth(chunk)) << kInstantBits |
         (used > behind ? used : behind);
}

void AccessRecency::advance(std::uint64_t now) {
  std::uint64_t at = advance_at_.load(std::memory_order_relaxed);
  const std::uint64_t clock = clock_.load(std::memory_order_relaxed);
  if (now < at || clock == clock_seen_.load(std::memory_order_relaxed) ||
      !advance_at_.compare_exchange_strong(at, now + kPeriod, std::memory_order_relaxed)) {
    return;
  }
  clock_seen_.store(clock, std::memory_order_relaxed);
  const std::uint32_t period = period_.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto left = static_cast<std::int32_t>(turns_at_.load(std::memory_order_relaxed) - period);
  if (left > 0) return;
  cold_.store(hot_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  hot_.store(turned_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  turned_.store(clock, std::memory_order_relaxed);
  turns_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t patience = patience_.load(std::memory_order_relaxed);
  turns_at_.store(period + patience / 2, std::memory_order_relaxed);
}

void AccessRecency::learn(bool mistaken) {
  const std::uint32_t now = patience_.load(std::memory_order_relaxed);
  std::uint32_t then = mistaken ? now * 2 : now / 2;
  if (then < kPatience) then = kPatience;
  if (then > kMaxPatience) then = kMaxPatience;
  patience_.store(then, std::memory_order_relaxed);
}

void AccessRecency::forgetAfterFork() {
  clock_.store(0, std::memory_order_relaxed);
  unknown_.store(0, std::memory_order_relaxed);
  turns_.store(0, std::memory_order_relaxed);
  clock_seen_.store(0, std::memory_order_relaxed);
  advance_at_.store(0, std::memory_order_relaxed);
  patience_.store(kPatience, std::memory_order_relaxed);
  turns_at_.store(period_.load(std::memory_order_relaxed) + kPatience / 2,
                  std::memory_order_relaxed);
  turned_.store(0, std::memory_order_relaxed);
  hot_.store(0, std::memory_order_relaxed);
  cold_.store(0, std::memory_order_relaxed);
  params_.forgetAfterFork();
}

}  // namespace divvy::interposer
