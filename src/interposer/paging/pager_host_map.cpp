// Chunks that are used where they are, with the host: what a tenant that can never have all of its
// memory on the device lacks there.
#include "paging/eviction_order.h"
#include "paging/pager_pass.h"
#include "runtime.h"

namespace divvy::interposer {

using ledger::bumpShared;
using ledger::loadRelaxed;
using ledger::SwapRefusal;

namespace {

// What one exchange brings: it bounds for how long the process stands still.
constexpr std::uint64_t kMostExchanged = std::uint64_t{512} << 20;

using Warmth = LastUse::Warmth;

// Bytes of a device's chunks in one of some states, by Warmth.
struct ByWarmth {
  std::uint64_t bytes[3] = {};

  ByWarmth(unsigned device, std::uint32_t states) {
    runtime().chunks.forEachOn(device, [&](std::uint32_t, Chunk& chunk) {
      if ((bitOf(chunk.now()) & states) == 0 || chunk.has(kHome)) return true;
      bytes[static_cast<unsigned>(runtime().last_use.warmth(chunk))] += chunk.bytes;
      return true;
    });
  }
  std::uint64_t of(Warmth warmth) const { return bytes[static_cast<unsigned>(warmth)]; }
};

// Bytes of the chunks that are hot and used at the host, as far as they have places: `for_warm`,
// and what is used itself `for_used`, which are more.
std::uint64_t hotAtHost(unsigned device, std::uint64_t for_used, std::uint64_t for_warm) {
  std::uint64_t sum = 0;
  ByUse hottest(device, ByUse::kHottest, bitOf(ChunkState::kHost));
  for (std::uint32_t number = hottest.next(); number != ChunkTable::kNone;
       number = hottest.next()) {
    const Chunk& chunk = runtime().chunks.chunk(number);
    const Warmth warmth = runtime().last_use.warmth(chunk);
    if (warmth == Warmth::kCold) break;
    const std::uint64_t most = warmth == Warmth::kUsed ? for_used : for_warm;
    if (!runtime().last_use.isHot(chunk) || sum + chunk.bytes > most) continue;
    sum += chunk.bytes;
  }
  return sum;
}

std::uint64_t less(std::uint64_t from, std::uint64_t amount) {
  return from > amount ? from - amount : 0;
}

}  // namespace

// ---- to the host -------------------------------------------------------------------------------

SwapRefusal MoverPass::toHost() {
  SwapRefusal refused = SwapRefusal::kNone;
  runtime().chunks.forEachOn(mover_.device, [&](std::uint32_t number, Chunk& chunk) {
    const ChunkState now = chunk.now();
    if (chunk.has(kHome)) return true;
    if (now == ChunkState::kOut) refused = sendToHost<ChunkState::kOut>(number);
    if (now == ChunkState::kBorn) refused = sendToHost<ChunkState::kBorn>(number);
    return refused == SwapRefusal::kNone && !interrupted() && runtime().swap_board.mayMapHost();
  });
  refused = landAll<Way::kToHost>(refused);
  // For a moment the last one was there twice.
  SwapBoard& board = runtime().swap_board;
  runtime().host_store.trim(board.storeLimit());
  board.showHostBytes();
  return refused;
}

template <ChunkState kFrom>
SwapRefusal MoverPass::sendToHost(std::uint32_t number) {
  constexpr bool kFilled = kFrom == ChunkState::kOut;
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  while (kFilled && flights_.full(chunk.bytes)) {
    const SwapRefusal refused = land<Way::kToHost>();
    if (refused != SwapRefusal::kNone) return refused;
  }
  if (!chunk.advance<kFrom, ChunkState::kComing>()) return SwapRefusal::kNone;
  const bool ours = chunk.device.load(std::memory_order_relaxed) == mover_.device;
  SwapRefusal refused = SwapRefusal::kNone;
  // What has a handle could not be filled before, and not be unmapped: that is for in().
  bool done = !ours || chunk.has(kDoomed) || chunk.handle != 0;
  while (!done && !state.swap_board.takeHost(chunk.bytes, kFilled)) {
    refused = flights_.empty() ? SwapRefusal::kNoHostMemory : land<Way::kToHost>();
    done = refused != SwapRefusal::kNone;
    if (flights_.empty() && done)
      ledger::storeRelaxed(state.swap_board.line().host_want, chunk.bytes);
  }
  if (!done) {
    const CUresult made = state.backing.mapHost(chunk);
    if (made == CUDA_SUCCESS && kFilled) return fill(number);
    if (made == CUDA_SUCCESS) {
      state.swappable.leave<ChunkState::kComing, ChunkState::kHost>(number);
      bumpShared(state.swap_board.line().chunks_in, 1);
      state.swap_board.showHostBytes();
      return SwapRefusal::kNone;
    }
    state.swap_board.giveHost(chunk.bytes);
    refused = made == CUDA_ERROR_OUT_OF_MEMORY ? SwapRefusal::kNoHostMemory : SwapRefusal::kDriver;
  }
  state.swappable.leave<ChunkState::kComing, kFrom>(number);
  return refused;
}

// Its contents are there.
SwapRefusal MoverPass::landAtHost(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  state.host_store.give(chunk.host);
  chunk.host = HostStore::kNone;
  state.swappable.leave<ChunkState::kComing, ChunkState::kHost>(number);
  bumpShared(state.swap_board.line().chunks_in, 1);
  state.swap_board.showHostBytes();
  return SwapRefusal::kNone;
}

// False: the driver did not unmap it.
bool MoverPass::dropHost(Chunk& chunk) {
  Runtime& state = runtime();
  const std::uint64_t bytes = chunk.bytes;
  const CUresult undone = state.backing.unmap(chunk);
  if (undone == CUDA_SUCCESS) state.swap_board.giveHost(bytes);
  return chunk.handle == 0;
}

// ---- back --------------------------------------------------------------------------------------

SwapRefusal MoverPass::backFromHost(std::uint64_t exchanged) {
  coming_ = exchanged;
  exchanging_ = exchanged != 0;
  runtime().chunks.forEachOn(mover_.device, [&](std::uint32_t, Chunk& chunk) {
    constexpr std::uint32_t kMissing =
        bitOf(ChunkState::kHost) | bitOf(ChunkState::kOut) | bitOf(ChunkState::kBorn);
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

SwapRefusal MoverPass::preferHot() {
  const ledger::ResidencyLine* order = runtime().swap_board.order();
  if (order == nullptr) return SwapRefusal::kNone;
  const ByWarmth away(mover_.device, bitOf(ChunkState::kOut) | bitOf(ChunkState::kBorn));
  const std::uint64_t room =
      less(loadRelaxed(order->allowed[mover_.device]), runtime().swap_board.have(mover_.device));
  const std::uint64_t for_used = less(room, away.of(Warmth::kUsed));
  const std::uint64_t for_warm = less(for_used, away.of(Warmth::kWarm));
  const std::uint64_t hot = hotAtHost(mover_.device, for_used, for_warm);
  return hot == 0 ? SwapRefusal::kNone : leaveHost(hot, true);
}

std::uint64_t MoverPass::worthExchanging(const Mover& mover) {
  SwapBoard& board = runtime().swap_board;
  const ledger::ResidencyLine* order = board.order();
  if (order == nullptr || !board.shows(ledger::kSwapHostMapped)) return 0;
  // Who leaves is in the store before who comes has left it.
  HostStore& store = runtime().host_store;
  const std::uint64_t free =
      less(ledger::saturatingAdd(board.storeLimit(), store.spareBytes()), store.bytes());
  const std::uint64_t most = free < kMostExchanged ? free : kMostExchanged;
  const ByWarmth there(mover.device, bitOf(ChunkState::kDevice));
  const std::uint64_t for_warm =
      less(loadRelaxed(order->allowed[mover.device]), board.have(mover.device)) +
      there.of(Warmth::kCold);
  const std::uint64_t for_used = for_warm + there.of(Warmth::kWarm);
  return hotAtHost(mover.device, for_used < most ? for_used : most,
                   for_warm < most ? for_warm : most);
}

// As many as there is room for on the device, of at most so many bytes: they are out then.
SwapRefusal MoverPass::leaveHost(std::uint64_t most, bool only_hot) {
  SwapBoard& board = runtime().swap_board;
  ByUse hottest(mover_.device, ByUse::kHottest, bitOf(ChunkState::kHost));
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
    const std::uint64_t then = ledger::saturatingAdd(board.have(mover_.device), taken + bytes);
    if (then > loadRelaxed(order->allowed[mover_.device])) continue;
    taken += bytes;
    mistaken_ = mistaken_ || chunk.has(kExchanged);
    refused = sendBack(number);
  }
  return landAll<Way::kFromHost>(refused);
}

SwapRefusal MoverPass::sendBack(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  const std::uint64_t bytes = chunk.bytes;
  while (flights_.full(bytes)) {
    const SwapRefusal refused = land<Way::kFromHost>();
    if (refused != SwapRefusal::kNone) return refused;
  }
  if (!chunk.advance<ChunkState::kHost, ChunkState::kLeaving>()) return SwapRefusal::kNone;
  SwapRefusal refused = SwapRefusal::kNone;
  std::uint32_t segment = HostStore::kNone;
  bool done = chunk.device.load(std::memory_order_relaxed) != mover_.device || chunk.has(kDoomed);
  while (!done) {
    // For a moment it is there twice.
    const std::uint64_t limit = ledger::saturatingAdd(state.swap_board.storeLimit(), bytes);
    segment = state.host_store.take(bytes, limit);
    if (segment != HostStore::kNone) break;
    refused = flights_.empty() ? SwapRefusal::kNoHostMemory : land<Way::kFromHost>();
    done = refused != SwapRefusal::kNone;
  }
  if (!done) {
    state.host_store.pin(segment, state.context_use.ended());
    if (flights_.out({number, segment, bytes, nullptr}, chunk.address,
                     state.host_store.at(segment))) {
      return SwapRefusal::kNone;
    }
    flights_.stop();
    refused = SwapRefusal::kDriver;
  }
  stayAtHost(number, segment);
  return refused;
}

// Its contents are in the segment too.
SwapRefusal MoverPass::landBack(const Flights::Flight& flight) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(flight.chunk);
  if (!dropHost(chunk)) {
    stayAtHost(flight.chunk, flight.segment);
    return SwapRefusal::kDriver;
  }
  chunk.host = flight.segment;
  state.swappable.leave<ChunkState::kLeaving, ChunkState::kOut>(flight.chunk);
  bumpShared(state.swap_board.line().chunks_out, 1);
  state.swap_board.showHostBytes();
  return SwapRefusal::kNone;
}

// It is as it was; nothing is under way to its segment.
void MoverPass::stayAtHost(std::uint32_t number, std::uint32_t segment) {
  if (segment != HostStore::kNone) runtime().host_store.give(segment);
  runtime().swappable.leave<ChunkState::kLeaving, ChunkState::kHost>(number);
}

}  // namespace divvy::interposer
