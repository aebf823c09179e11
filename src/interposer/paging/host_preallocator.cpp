#include "paging/host_preallocator.h"

#include "paging/pager_pass.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using ledger::loadRelaxed;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kRest = 5 * kMillisecond;  // between two segments
constexpr std::uint64_t kLook = 100 * kMillisecond;
constexpr std::uint64_t kCalm = 5'000 * kMillisecond;

// Bytes of the first chunk on a device for which the spare segments do not suffice; 0: they
// suffice.
std::uint64_t lacking() {
  const std::uint64_t spare = runtime().host_store.spareBytes();
  std::uint64_t sum = 0;
  std::uint64_t found = 0;
  runtime().chunks.forEach([&](std::uint32_t, Chunk& chunk) {
    if (chunk.now() != ChunkState::kDevice || chunk.has(kDoomed)) return true;
    const std::uint64_t bytes = chunk.bytes;
    sum += bytes;
    if (sum > spare) found = bytes;
    return found == 0;
  });
  return found;
}

}  // namespace

bool HostPreallocator::makeOne(Pager& pager) {
  Runtime& state = runtime();
  const std::uint64_t bytes = lacking();
  if (bytes == 0) return false;
  const std::uint64_t limit = state.swap_board.storeLimit();
  // Outside of any context, so that ending one does not wait for this.
  const std::uint32_t made = state.host_store.makeSpare(bytes, limit);
  if (made == SwapStore::kNone) return false;
  runtime().swap_board.showHostBytes();
  if (!state.pagers.stopping()) {
    const PagerPass pass(pager);
    // Otherwise it is pinned at its first use.
    if (pass.ready()) state.host_store.pin(made, state.context_use.ended());
  }
  state.host_store.give(made);
  return true;
}

bool HostPreallocator::giveOneBack(Pager& pager, std::uint64_t now) {
  SwapStore& store = runtime().host_store;
  if (store.spareBytes() == 0 || now < contended_at_ + kCalm) return false;
  const PagerPass pass(pager);
  if (!pass.ready()) return false;
  const std::uint64_t before = store.bytes();
  store.trim(before - 1);
  runtime().swap_board.showHostBytes();
  return store.bytes() < before;
}

std::uint64_t HostPreallocator::step(Pager& pager, std::uint64_t now) {
  const ledger::ResidencyLine* order = runtime().swap_board.order();
  std::uint32_t idle = 0;
  if (order == nullptr || !busy_.compare_exchange_strong(idle, 1, std::memory_order_acquire)) {
    return now + kLook;
  }
  const bool contended = (loadRelaxed(order->flags) & ledger::kMayLeave) != 0;
  if (contended) contended_at_ = now;
  const bool more = contended ? makeOne(pager) : giveOneBack(pager, now);
  busy_.store(0, std::memory_order_release);
  return sys::now() + (more ? kRest : kLook);
}

void HostPreallocator::forgetAfterFork() {
  busy_.store(0, std::memory_order_relaxed);
  contended_at_ = 0;
}

}  // namespace divvy::interposer
