// Views of swappable blocks, and pinning of blocks.
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// Limit for a chunk that another thread owns: 5 s in all.
constexpr unsigned kRounds = 25'000;
// Limit for captures of other threads: 1 s in all.
constexpr unsigned kCaptureRounds = 5'000;

void nap() {
  const ErrnoKeeper keeper;
  sys::nap(200'000);
}

}  // namespace

// The chunk's last owner left requests for the next one, which are carried out here.
void Swappable::comeBack(std::uint32_t number, std::uint32_t generation) {
  Chunk& chunk = chunkAt(number);
  if (chunk.has(kDoomed)) {
    undo(number, generation);
    return;
  }
  const CUresult result = settleOne(number, true);
  if (result != CUDA_SUCCESS) {
    noteFault(Fault::kSwapRefused, static_cast<std::uint32_t>(Cu::cuMemMap),
              static_cast<std::uint64_t>(result));
  }
}

// Returns false if the chunk's state changed meanwhile.
template <ChunkState kState>
bool Swappable::settleIn(std::uint32_t number, bool anew, CUresult* result) {
  Chunk& chunk = chunkAt(number);
  if (!chunk.advance<kState, ChunkState::kSwappingIn>()) return false;
  const bool stale = (chunk.flags.fetch_and(~kViewStale, std::memory_order_seq_cst) & kViewStale);
  *result = Backing::settle(chunk, anew || stale);
  leave<ChunkState::kSwappingIn, kState>(number);
  return true;
}

CUresult Swappable::settleOne(std::uint32_t number, bool anew) {
  Chunk& chunk = chunkAt(number);
  CUresult result = CUDA_SUCCESS;
  for (unsigned round = 0;;) {
    switch (chunk.now()) {
      case ChunkState::kDevice:
        if (settleIn<ChunkState::kDevice>(number, anew, &result)) return result;
        continue;
      case ChunkState::kPinned:
        if (settleIn<ChunkState::kPinned>(number, anew, &result)) return result;
        continue;
      case ChunkState::kHost:
        if (settleIn<ChunkState::kHost>(number, anew, &result)) return result;
        continue;
      case ChunkState::kSwappedOut:  // with memory: its contents could not be restored
        if (!chunk.hasHandle()) return CUDA_SUCCESS;
        if (settleIn<ChunkState::kSwappedOut>(number, anew, &result)) return result;
        continue;
      case ChunkState::kSwappingOut:
      case ChunkState::kSwappingIn:
        break;
      default:  // the thread that maps it reads all views
        return CUDA_SUCCESS;
    }
    if (round++ == kRounds) {
      // If the chunk is busy after the flag is set, its owner settles it.
      chunk.set(kViewStale);
      if (isBusy(chunk.now())) return CUDA_ERROR_NOT_READY;
      continue;
    }
    nap();
  }
}

CUresult Swappable::settle(std::uint32_t number, std::uint64_t bytes, bool anew) {
  ChunkTable& chunks = runtime().chunks;
  const SwapBlock& block = chunks.block(number);
  CUresult result = CUDA_SUCCESS;
  for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
    const Chunk& chunk = chunks.chunk(at);
    if (chunk.address - block.address >= bytes) break;
    const CUresult one = settleOne(at, anew);
    // A late chunk is settled by its owner; the remaining chunks must be settled here.
    if (one != CUDA_SUCCESS && one != CUDA_ERROR_NOT_READY) return one;
    if (one != CUDA_SUCCESS) result = one;
    at = chunk.next;
  }
  return result;
}

bool Swappable::awaitIdle(std::uint32_t number, std::uint64_t bytes) {
  ChunkTable& chunks = runtime().chunks;
  const SwapBlock& block = chunks.block(number);
  for (std::uint32_t at = block.first; at != ChunkTable::kNone; at = chunks.chunk(at).next) {
    const Chunk& chunk = chunks.chunk(at);
    if (chunk.address - block.address >= bytes) break;
    for (unsigned round = 0; isBusy(chunk.now()); ++round) {
      if (round == kRounds) return false;
      nap();
    }
  }
  return true;
}

// Returns whether all of a block is on the device. The calling thread is inside the gate, so the
// block stays there. CUDA_ERROR_NOT_READY: the pagers will bring it once no thread is inside.
CUresult Swappable::callHome(const SwapBlock& block) {
  Runtime& state = runtime();
  const auto forEach = [&](auto visit) {
    for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
      Chunk& chunk = state.chunks.chunk(at);
      at = chunk.next;
      visit(chunk);
    }
  };
  bool at_host = false;
  forEach([&](const Chunk& chunk) {
    for (unsigned round = 0; isBusy(chunk.now()) && round < kRounds; ++round) nap();
    at_host = at_host || chunk.now() == ChunkState::kHost;
  });
  if (!at_host) return CUDA_SUCCESS;
  const ledger::ResidencyLine* order = state.swap_board.order();
  const std::uint64_t allowed =
      order == nullptr ? 0 : ledger::loadRelaxed(order->allowed[block.device]);
  CUresult result = CUDA_ERROR_NOT_READY;
  if (ledger::saturatingAdd(block.reserved, state.swap_board.pinned(block.device)) > allowed) {
    result = CUDA_ERROR_OUT_OF_MEMORY;  // it has no room even if all other memory leaves
  } else if (state.captures.open()) {
    // No memory moves before the captures have ended, and their end may depend on this thread.
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  forEach([&](Chunk& chunk) {
    result == CUDA_ERROR_NOT_READY ? chunk.set(kHome) : chunk.clear(kHome);
  });
  return result;
}

// While this thread is inside, no memory leaves. The driver knows no such refusal for captures of
// other threads, which are mostly short: their end is waited for, outside.
CUresult Swappable::enterAtHome(const SwapBlock& block, ThreadLine* line) {
  ResidencyGate& gate = runtime().memory_gate;
  for (unsigned captured = 0;;) {
    const CUresult refused = gate.enter(line, nullptr);
    if (refused != CUDA_SUCCESS) return refused;
    const CUresult home = callHome(block);
    if (home == CUDA_SUCCESS) return home;
    ResidencyGate::leave(line);
    if (home == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && captured++ < kCaptureRounds) {
      nap();
      continue;
    }
    if (home != CUDA_ERROR_NOT_READY) return home;
    gate.shut();
  }
}

CUresult Swappable::pin(std::uint32_t number, PinReason reason) {
  Runtime& state = runtime();
  ThreadLine* line = divvy_thread.line == nullptr ? takeThreadLine() : divvy_thread.line;
  SwapBlock& block = state.chunks.block(number);
  const CUresult refused = enterAtHome(block, line);
  if (refused != CUDA_SUCCESS) return refused;
  block.pins.fetch_or(ledger::bitOf(reason), std::memory_order_seq_cst);
  state.swap_board.notePin(reason);
  for (std::uint32_t at = block.first; at != ChunkTable::kNone;) {
    Chunk& chunk = state.chunks.chunk(at);
    at = chunk.next;
    for (unsigned round = 0; isBusy(chunk.now()) && round < kRounds; ++round) nap();
    if (!chunk.advance<ChunkState::kDevice, ChunkState::kPinned>()) continue;
    state.swap_board.addSwappable(block.device, -static_cast<std::int64_t>(chunk.bytes));
    state.swap_board.giveRoom(block.device, chunk.bytes);
  }
  state.swap_board.showPinned(block.device);
  ResidencyGate::leave(line);
  return CUDA_SUCCESS;
}

}  // namespace divvy::interposer
