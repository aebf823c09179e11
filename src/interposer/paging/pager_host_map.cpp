// Chunks that are used at the host, by a tenant that can never have all of its memory on the
// device.
#include "paging/eviction_order.h"
#include "paging/pager_pass.h"
#include "runtime.h"

namespace divvy::interposer {

using ledger::bumpShared;
using ledger::loadRelaxed;
using ledger::SwapRefusal;

namespace {

// Limit of one exchange, which bounds how long the process is stopped.
constexpr std::uint64_t kMaxExchanged = std::uint64_t{512} << 20;

using AccessClass = AccessRecency::AccessClass;

// Bytes of a device's chunks in a set of states, by AccessClass.
struct ByAccessClass {
  std::uint64_t bytes[3] = {};

  ByAccessClass(unsigned device, std::uint32_t states) {
    runtime().chunks.forEachOn(device, [&](std::uint32_t, Chunk& chunk) {
      if ((bitOf(chunk.now()) & states) == 0 || chunk.has(kHome)) return true;
      bytes[static_cast<unsigned>(runtime().last_use.warmth(chunk))] += chunk.bytes;
      return true;
    });
  }
  std::uint64_t of(AccessClass warmth) const { return bytes[static_cast<unsigned>(warmth)]; }
};

// Returns the bytes of hot chunks that are used at the host and for which there is space. The limit
// is `for_used` for chunks in use, and the smaller `for_warm` for others. Takes the chunks in the
// order of the table: a launch may change their ranks meanwhile, and an order by rank would miss
// the chunks that became hotter.
std::uint64_t hotAtHost(unsigned device, std::uint64_t for_used, std::uint64_t for_warm) {
  std::uint64_t sum = 0;
  const auto add = [&](AccessClass warmth, std::uint64_t most) {
    runtime().chunks.forEachOn(device, [&](std::uint32_t, Chunk& chunk) {
      const AccessRecency& uses = runtime().last_use;
      const bool counts = chunk.now() == ChunkState::kHost && uses.warmth(chunk) == warmth &&
                          uses.isHot(chunk) && sum + chunk.bytes <= most;
      if (counts) sum += chunk.bytes;
      return true;
    });
  };
  add(AccessClass::kUsed, for_used);
  add(AccessClass::kWarm, for_warm);
  return sum;
}

std::uint64_t less(std::uint64_t from, std::uint64_t amount) {
  return from > amount ? from - amount : 0;
}

}  // namespace

// ---- to the host -------------------------------------------------------------------------------

SwapRefusal PagerPass::toHost() {
  SwapRefusal refused = SwapRefusal::kNone;
  runtime().chunks.forEachOn(pager_.device, [&](std::uint32_t number, Chunk& chunk) {
    const ChunkState now = chunk.now();
    if (chunk.has(kHome)) return true;
    if (now == ChunkState::kSwappedOut) refused = sendToHost<ChunkState::kSwappedOut>(number);
    if (now == ChunkState::kReserved) refused = sendToHost<ChunkState::kReserved>(number);
    return refused == SwapRefusal::kNone && !interrupted() && runtime().swap_board.mayMapHost();
  });
  refused = landAll<Way::kToHost>(refused);
  // For a moment the last chunk existed twice.
  SwapReport& board = runtime().swap_board;
  runtime().host_store.trim(board.storeLimit());
  board.showHostBytes();
  return refused;
}

template <ChunkState kFrom>
SwapRefusal PagerPass::sendToHost(std::uint32_t number) {
  constexpr bool kFilled = kFrom == ChunkState::kSwappedOut;
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  while (kFilled && copies_.full(chunk.bytes)) {
    const SwapRefusal refused = land<Way::kToHost>();
    if (refused != SwapRefusal::kNone) return refused;
  }
  if (!chunk.advance<kFrom, ChunkState::kSwappingIn>()) return SwapRefusal::kNone;
  const bool ours = chunk.device.load(std::memory_order_relaxed) == pager_.device;
  SwapRefusal refused = SwapRefusal::kNone;
  // A chunk with a handle could not be filled or unmapped before; in() handles it.
  bool done = !ours || chunk.has(kDoomed) || chunk.handle != 0;
  while (!done && !state.swap_board.takeHost(chunk.bytes, kFilled)) {
    refused = copies_.empty() ? SwapRefusal::kNoHostMemory : land<Way::kToHost>();
    done = refused != SwapRefusal::kNone;
    if (copies_.empty() && done)
      ledger::storeRelaxed(state.swap_board.line().host_want, chunk.bytes);
  }
  if (!done) {
    const CUresult made = state.backing.mapHost(chunk);
    if (made == CUDA_SUCCESS && kFilled) return fill(number);
    if (made == CUDA_SUCCESS) {
      state.swappable.leave<ChunkState::kSwappingIn, ChunkState::kHost>(number);
      bumpShared(state.swap_board.line().chunks_in, 1);
      state.swap_board.showHostBytes();
      return SwapRefusal::kNone;
    }
    state.swap_board.giveHost(chunk.bytes);
    refused = made == CUDA_ERROR_OUT_OF_MEMORY ? SwapRefusal::kNoHostMemory : SwapRefusal::kDriver;
  }
  state.swappable.leave<ChunkState::kSwappingIn, kFrom>(number);
  return refused;
}

// Its contents are at the host now.
SwapRefusal PagerPass::landAtHost(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  state.host_store.give(chunk.host);
  chunk.host = SwapStore::kNone;
  state.swappable.leave<ChunkState::kSwappingIn, ChunkState::kHost>(number);
  bumpShared(state.swap_board.line().chunks_in, 1);
  state.swap_board.showHostBytes();
  return SwapRefusal::kNone;
}

// Returns false if the driver did not unmap it.
bool PagerPass::dropHost(Chunk& chunk) {
  Runtime& state = runtime();
  const std::uint64_t bytes = chunk.bytes;
  const CUresult undone = state.backing.unmap(chunk);
  if (undone == CUDA_SUCCESS) state.swap_board.giveHost(bytes);
  return chunk.handle == 0;
}

// ---- back --------------------------------------------------------------------------------------

SwapRefusal PagerPass::backFromHost(std::uint64_t exchanged) {
  coming_ = exchanged;
  exchanging_ = exchanged != 0;
  runtime().chunks.forEachOn(pager_.device, [&](std::uint32_t, Chunk& chunk) {
    constexpr std::uint32_t kMissing =
        bitOf(ChunkState::kHost) | bitOf(ChunkState::kSwappedOut) | bitOf(ChunkState::kReserved);
    if (chunk.has(kHome) && (bitOf(chunk.now()) & kMissing) != 0) coming_ += chunk.bytes;
    return true;
  });
  SwapRefusal refused = coming_ == 0 ? SwapRefusal::kNone : out();
  coming_ = 0;
  if (refused == SwapRefusal::kNone) refused = leaveHost(UINT64_MAX, false);
  if (exchanging_) runtime().last_use.learn(mistaken_);
  exchanging_ = false;
  if (refused == SwapRefusal::kNone && !interrupted()) refused = in();
  if (refused == SwapRefusal::kNone && runtime().swap_board.mayMapHost()) refused = toHost();
  return refused;
}

SwapRefusal PagerPass::preferHot() {
  const ledger::ResidencyLine* order = runtime().swap_board.order();
  if (order == nullptr) return SwapRefusal::kNone;
  const ByAccessClass away(pager_.device,
                           bitOf(ChunkState::kSwappedOut) | bitOf(ChunkState::kReserved));
  const std::uint64_t room =
      less(loadRelaxed(order->allowed[pager_.device]), runtime().swap_board.have(pager_.device));
  const std::uint64_t for_used = less(room, away.of(AccessClass::kUsed));
  const std::uint64_t for_warm = less(for_used, away.of(AccessClass::kWarm));
  const std::uint64_t hot = hotAtHost(pager_.device, for_used, for_warm);
  return hot == 0 ? SwapRefusal::kNone : leaveHost(hot, true);
}

std::uint64_t PagerPass::worthExchanging(const Pager& pager) {
  SwapReport& board = runtime().swap_board;
  const ledger::ResidencyLine* order = board.order();
  if (order == nullptr || !board.shows(ledger::kSwapHostMapped)) return 0;
  // Leaving chunks are in the store before arriving ones have left it.
  SwapStore& store = runtime().host_store;
  const std::uint64_t free =
      less(ledger::saturatingAdd(board.storeLimit(), store.spareBytes()), store.bytes());
  const std::uint64_t most = free < kMaxExchanged ? free : kMaxExchanged;
  const ByAccessClass there(pager.device, bitOf(ChunkState::kDevice));
  const std::uint64_t for_warm =
      less(loadRelaxed(order->allowed[pager.device]), board.have(pager.device)) +
      there.of(AccessClass::kCold);
  const std::uint64_t for_used = for_warm + there.of(AccessClass::kWarm);
  return hotAtHost(pager.device, for_used < most ? for_used : most,
                   for_warm < most ? for_warm : most);
}

// Takes chunks for which the device has room, at most `most` bytes; they are swapped out then.
SwapRefusal PagerPass::leaveHost(std::uint64_t most, bool only_hot) {
  SwapReport& board = runtime().swap_board;
  EvictionOrder hottest(pager_.device, EvictionOrder::kHottest, bitOf(ChunkState::kHost));
  SwapRefusal refused = SwapRefusal::kNone;
  std::uint64_t taken = 0;
  while (refused == SwapRefusal::kNone && !interrupted()) {
    const std::uint32_t number = hottest.next();
    const ledger::ResidencyLine* order = board.order();
    if (number == ChunkTable::kNone || order == nullptr) break;
    const Chunk& chunk = runtime().chunks.chunk(number);
    const std::uint64_t bytes = chunk.bytes;
    if (bytes > most - taken) break;
    if (only_hot && !chunk.has(kHome) && !runtime().last_use.isHot(chunk)) continue;
    const std::uint64_t then = ledger::saturatingAdd(board.have(pager_.device), taken + bytes);
    if (then > loadRelaxed(order->allowed[pager_.device])) continue;
    taken += bytes;
    mistaken_ = mistaken_ || chunk.has(kExchanged);
    refused = sendBack(number);
  }
  return landAll<Way::kFromHost>(refused);
}

SwapRefusal PagerPass::sendBack(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  const std::uint64_t bytes = chunk.bytes;
  while (copies_.full(bytes)) {
    const SwapRefusal refused = land<Way::kFromHost>();
    if (refused != SwapRefusal::kNone) return refused;
  }
  if (!chunk.advance<ChunkState::kHost, ChunkState::kSwappingOut>()) return SwapRefusal::kNone;
  SwapRefusal refused = SwapRefusal::kNone;
  std::uint32_t segment = SwapStore::kNone;
  bool done = chunk.device.load(std::memory_order_relaxed) != pager_.device || chunk.has(kDoomed);
  while (!done) {
    // For a moment it exists twice.
    const std::uint64_t limit = ledger::saturatingAdd(state.swap_board.storeLimit(), bytes);
    segment = state.host_store.take(bytes, limit);
    if (segment != SwapStore::kNone) break;
    refused = copies_.empty() ? SwapRefusal::kNoHostMemory : land<Way::kFromHost>();
    done = refused != SwapRefusal::kNone;
  }
  if (!done) {
    state.host_store.pin(segment, state.context_use.ended());
    if (copies_.out({number, segment, bytes, nullptr}, chunk.address,
                    state.host_store.at(segment))) {
      return SwapRefusal::kNone;
    }
    copies_.stop();
    refused = SwapRefusal::kDriver;
  }
  stayAtHost(number, segment);
  return refused;
}

// Its contents are in the segment, too.
SwapRefusal PagerPass::landBack(const CopyPipeline::Flight& flight) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(flight.chunk);
  if (!dropHost(chunk)) {
    stayAtHost(flight.chunk, flight.segment);
    return SwapRefusal::kDriver;
  }
  chunk.host = flight.segment;
  state.swappable.leave<ChunkState::kSwappingOut, ChunkState::kSwappedOut>(flight.chunk);
  bumpShared(state.swap_board.line().chunks_out, 1);
  state.swap_board.showHostBytes();
  return SwapRefusal::kNone;
}

// Restores its state; no copy to its segment is under way.
void PagerPass::stayAtHost(std::uint32_t number, std::uint32_t segment) {
  if (segment != SwapStore::kNone) runtime().host_store.give(segment);
  runtime().swappable.leave<ChunkState::kSwappingOut, ChunkState::kHost>(number);
}

}  // namespace divvy::interposer
