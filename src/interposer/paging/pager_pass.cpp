#include "paging/pager_pass.h"

#include "paging/eviction_order.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;
using ledger::bumpShared;
using ledger::loadRelaxed;
using ledger::SwapRefusal;

constexpr long kFirstNap = 20'000;
constexpr long kLongestNap = 500'000;
// left free when a process takes memory without orders
constexpr std::uint64_t kCardMargin = std::uint64_t{64} << 20;

}  // namespace

PagerPass::PagerPass(Pager& pager) : pager_(pager) {
  ContextGuard& use = runtime().context_use;
  begun_ = use.begin();
  if (!begun_) return;
  const CUcontext context = ContextGuard::on(pager.device);
  if (context == nullptr || real<Cu::cuCtxSetCurrent>()(context) != CUDA_SUCCESS) return;
  copies_.open();
}

PagerPass::~PagerPass() {
  if (!begun_) return;
  copies_.close();
  real<Cu::cuCtxSetCurrent>()(nullptr);
  runtime().context_use.end();
}

bool PagerPass::interrupted() const {
  return runtime().pagers.stopping() || runtime().context_use.wanted();
}

// Whether the allowed memory suffices once `leaving` more bytes have left.
bool PagerPass::fits(std::uint64_t leaving) const {
  SwapReport& board = runtime().swap_board;
  const ledger::ResidencyLine* order = board.order();
  if (order == nullptr) return true;
  const std::uint64_t have = board.have(pager_.device);
  const std::uint64_t room =
      ledger::saturatingAdd(loadRelaxed(order->allowed[pager_.device]), leaving);
  return ledger::saturatingAdd(have, coming_) <= room;
}

// ---- copies under way --------------------------------------------------------------------------

template <PagerPass::Way kWay>
SwapRefusal PagerPass::land() {
  long nap = kFirstNap;
  for (;;) {
    const CUresult result = copies_.look();
    if (result == CUDA_SUCCESS) break;
    if (result != CUDA_ERROR_NOT_READY) return giveUp<kWay>();
    // The process is ending, so the copies no longer matter.
    if (runtime().pagers.stopping()) Pagers::park(pager_);
    sys::nap(nap);
    nap = nap < kLongestNap ? nap * 2 : kLongestNap;
  }
  const CopyPipeline::Flight flight = copies_.take();
  ledger::SwapDevice& figures = runtime().swap_board.device(pager_.device);
  const std::uint64_t time = copies_.lap();
  if constexpr (kWay == Way::kToHost) return landAtHost(flight.chunk);
  if constexpr (kWay == Way::kFromHost) return landBack(flight);
  constexpr bool kSwappedOut = kWay == Way::kSwappedOut;
  bumpShared(kSwappedOut ? figures.out_bytes : figures.in_bytes, flight.bytes);
  bumpShared(kSwappedOut ? figures.out_ns : figures.in_ns, time);
  if (kSwappedOut) return takeOff(flight);
  settle(flight.chunk);
  return SwapRefusal::kNone;
}

template <PagerPass::Way kWay>
SwapRefusal PagerPass::landAll(SwapRefusal before) {
  SwapRefusal refused = before;
  while (!copies_.empty()) {
    const SwapRefusal now = land<kWay>();
    if (refused == SwapRefusal::kNone) refused = now;
  }
  return refused;
}

template <PagerPass::Way kWay>
SwapRefusal PagerPass::giveUp() {
  copies_.stop();
  while (!copies_.empty()) {
    const CopyPipeline::Flight flight = copies_.take();
    if (kWay == Way::kSwappedOut) stay(flight.chunk, flight.segment);
    if (kWay == Way::kFromHost) stayAtHost(flight.chunk, flight.segment);
    if (kWay == Way::kIn || kWay == Way::kToHost) empty(flight.chunk);
  }
  return SwapRefusal::kDriver;
}

template SwapRefusal PagerPass::land<PagerPass::Way::kToHost>();
template SwapRefusal PagerPass::land<PagerPass::Way::kFromHost>();
template SwapRefusal PagerPass::landAll<PagerPass::Way::kToHost>(SwapRefusal);
template SwapRefusal PagerPass::landAll<PagerPass::Way::kFromHost>(SwapRefusal);

// ---- out ---------------------------------------------------------------------------------------

SwapRefusal PagerPass::out() {
  EvictionOrder coldest(pager_.device, EvictionOrder::kColdest, bitOf(ChunkState::kDevice));
  SwapRefusal refused = SwapRefusal::kNone;
  while (refused == SwapRefusal::kNone && !interrupted()) {
    // Until the copies under way have finished, some chunks may be ordered to stay.
    if (fits(copies_.bytes())) {
      if (copies_.empty()) break;
      refused = land<Way::kSwappedOut>();
      continue;
    }
    const std::uint32_t number = coldest.next();
    if (number == ChunkTable::kNone) break;
    refused = sendOff(number);
  }
  return landAll<Way::kSwappedOut>(refused);
}

SwapRefusal PagerPass::sendOff(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  while (copies_.full(chunk.bytes)) {
    const SwapRefusal refused = land<Way::kSwappedOut>();
    if (refused != SwapRefusal::kNone) return refused;
  }
  if (!chunk.advance<ChunkState::kDevice, ChunkState::kSwappingOut>()) return SwapRefusal::kNone;
  // Contents of freed memory are dropped; another block may have its address by now.
  if (chunk.device.load(std::memory_order_relaxed) != pager_.device || chunk.has(kDoomed)) {
    stay(number, SwapStore::kNone);
    return SwapRefusal::kNone;
  }
  const std::uint32_t segment = state.host_store.take(chunk.bytes, state.swap_board.storeLimit());
  if (segment == SwapStore::kNone) {
    ledger::storeRelaxed(state.swap_board.line().host_want, chunk.bytes);
    stay(number, segment);
    return SwapRefusal::kNoHostMemory;
  }
  state.host_store.pin(segment, state.context_use.ended());
  if (copies_.out({number, segment, chunk.bytes, nullptr}, chunk.address,
                  state.host_store.at(segment))) {
    return SwapRefusal::kNone;
  }
  copies_.stop();
  stay(number, segment);
  return SwapRefusal::kDriver;
}

// Restores its state on the device; no copy to its segment is under way.
void PagerPass::stay(std::uint32_t number, std::uint32_t segment) {
  if (segment != SwapStore::kNone) runtime().host_store.give(segment);
  runtime().swappable.leave<ChunkState::kSwappingOut, ChunkState::kDevice>(number);
}

// Its contents are in the segment, too.
SwapRefusal PagerPass::takeOff(const CopyPipeline::Flight& flight) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(flight.chunk);
  if (fits(0)) {
    stay(flight.chunk, flight.segment);
    return SwapRefusal::kNone;
  }
  const std::uint64_t bytes = chunk.bytes;
  const CUresult undone = state.backing.unmap(chunk);
  if (undone != CUDA_SUCCESS && chunk.handle != 0) {
    stay(flight.chunk, flight.segment);
    return SwapRefusal::kDriver;
  }
  chunk.host = flight.segment;
  if (exchanging_) chunk.set(kExchanged);
  state.swappable.leave<ChunkState::kSwappingOut, ChunkState::kSwappedOut>(flight.chunk);
  bumpShared(state.swap_board.line().chunks_out, 1);
  state.swap_board.showHostBytes();
  // A handle that could not be released may hold its memory for good.
  if (undone == CUDA_SUCCESS) state.swap_board.giveRoom(pager_.device, bytes);
  return undone == CUDA_SUCCESS ? SwapRefusal::kNone : SwapRefusal::kDriver;
}

// ---- in ----------------------------------------------------------------------------------------

SwapRefusal PagerPass::in() {
  EvictionOrder hottest(pager_.device, EvictionOrder::kHottest,
                        bitOf(ChunkState::kSwappedOut) | bitOf(ChunkState::kReserved));
  SwapRefusal refused = SwapRefusal::kNone;
  bool no_room = false;
  while (refused == SwapRefusal::kNone && !no_room && !interrupted()) {
    const std::uint32_t number = hottest.next();
    if (number == ChunkTable::kNone) break;
    const ChunkState now = runtime().chunks.chunk(number).now();
    if (now == ChunkState::kSwappedOut) refused = bring<ChunkState::kSwappedOut>(number, &no_room);
    if (now == ChunkState::kReserved) refused = bring<ChunkState::kReserved>(number, &no_room);
  }
  return landAll<Way::kIn>(refused);
}

SwapRefusal PagerPass::inBeyond() {
  std::uint64_t missing = kCardMargin;
  runtime().chunks.forEachOn(pager_.device, [&](std::uint32_t, Chunk& chunk) {
    const ChunkState now = chunk.now();
    if (now == ChunkState::kSwappedOut || now == ChunkState::kReserved) missing += chunk.bytes;
    return true;
  });
  std::size_t free = 0, total = 0;
  if (real<Cu::cuMemGetInfo_v2>()(&free, &total) != CUDA_SUCCESS) return SwapRefusal::kDriver;
  if (free < missing) return SwapRefusal::kNoDeviceMemory;
  runtime().swap_board.raise(ledger::kSwapSelfHelp);
  beyond_ = true;
  return in();
}

bool PagerPass::takeRoom(std::uint64_t bytes) const {
  SwapReport& board = runtime().swap_board;
  if (board.takeRoom(pager_.device, bytes)) return true;
  if (beyond_) board.takeBeyond(pager_.device, bytes);
  return beyond_;
}

// While copies are under way other memory may leave, which makes room.
template <ChunkState kFrom>
SwapRefusal PagerPass::bring(std::uint32_t number, bool* no_room) {
  for (;;) {
    *no_room = false;
    SwapRefusal refused = make<kFrom>(number, no_room);
    if (refused != SwapRefusal::kNone || !*no_room || copies_.empty()) return refused;
    refused = land<Way::kIn>();
    if (refused != SwapRefusal::kNone || interrupted()) return refused;
  }
}

template <ChunkState kFrom>
SwapRefusal PagerPass::make(std::uint32_t number, bool* no_room) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  while (kFrom == ChunkState::kSwappedOut && copies_.full(chunk.bytes)) {
    const SwapRefusal refused = land<Way::kIn>();
    if (refused != SwapRefusal::kNone) return refused;
  }
  if (!chunk.advance<kFrom, ChunkState::kSwappingIn>()) return SwapRefusal::kNone;
  const std::uint64_t bytes = chunk.bytes;
  const bool ours = chunk.device.load(std::memory_order_relaxed) == pager_.device;
  // It could not be filled before, and not be unmapped then.
  if (chunk.handle != 0 && chunk.at_host && !dropHost(chunk)) {
    state.swappable.leave<ChunkState::kSwappingIn, kFrom>(number);
    return SwapRefusal::kDriver;
  }
  const bool there = chunk.handle != 0;
  // Freed memory is not brought back.
  if (!ours || chunk.has(kDoomed) || (!there && !takeRoom(bytes))) {
    *no_room = ours && !chunk.has(kDoomed);
    state.swappable.leave<ChunkState::kSwappingIn, kFrom>(number);
    return SwapRefusal::kNone;
  }
  const CUresult made = there ? CUDA_SUCCESS : state.backing.map(chunk);
  if (made != CUDA_SUCCESS) {
    state.swap_board.giveRoom(pager_.device, bytes);
    state.swappable.leave<ChunkState::kSwappingIn, kFrom>(number);
    return made == CUDA_ERROR_OUT_OF_MEMORY ? SwapRefusal::kNoDeviceMemory : SwapRefusal::kDriver;
  }
  if (kFrom == ChunkState::kSwappedOut) return fill(number);
  state.swappable.leave<ChunkState::kSwappingIn, ChunkState::kDevice>(number);
  bumpShared(state.swap_board.line().chunks_in, 1);
  return SwapRefusal::kNone;
}

SwapRefusal PagerPass::fill(std::uint32_t number) {
  Runtime& state = runtime();
  const Chunk& chunk = state.chunks.chunk(number);
  state.host_store.pin(chunk.host, state.context_use.ended());
  if (copies_.in({number, chunk.host, chunk.bytes, nullptr}, chunk.address,
                 state.host_store.at(chunk.host))) {
    return SwapRefusal::kNone;
  }
  copies_.stop();
  empty(number);
  return SwapRefusal::kDriver;
}

// Its contents are restored.
void PagerPass::settle(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  state.host_store.give(chunk.host);
  chunk.host = SwapStore::kNone;
  chunk.clear(kExchanged);
  state.swappable.leave<ChunkState::kSwappingIn, ChunkState::kDevice>(number);
  bumpShared(state.swap_board.line().chunks_in, 1);
}

// Its contents may be lost; no copy to it is under way. Memory that is still mapped stays counted.
void PagerPass::empty(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  const std::uint64_t bytes = chunk.bytes;
  if (chunk.at_host) {
    dropHost(chunk);
  } else if (state.backing.unmap(chunk) == CUDA_SUCCESS) {
    state.swap_board.giveRoom(pager_.device, bytes);
  }
  state.swappable.leave<ChunkState::kSwappingIn, ChunkState::kSwappedOut>(number);
}

}  // namespace divvy::interposer
