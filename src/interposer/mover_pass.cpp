#include "mover_pass.h"

#include "runtime.h"
#include "sys.h"

namespace divvy::interposer {
namespace {

using abi::Cu;
using ledger::bumpShared;
using ledger::loadRelaxed;
using ledger::SwapRefusal;

constexpr long kFirstNap = 20'000;
constexpr long kLongestNap = 500'000;
constexpr std::uint64_t kCardMargin = std::uint64_t{64} << 20;  // left free by who helps himself

// Chunks that may leave, the coldest first: those that no launch ever named, then those that were
// named longest ago, then by number, so that the same ones go each time.
class Coldest {
 public:
  explicit Coldest(unsigned device) : device_(device) {}

  std::uint32_t next() {
    if (at_ == count_) look();
    return at_ == count_ ? ChunkTable::kNone : of_[at_++].number;
  }

 private:
  struct Candidate {
    std::uint32_t number;
    std::uint32_t last_use;
  };
  static constexpr unsigned kMost = 256;

  void look();
  void insert(Candidate candidate);

  unsigned device_;
  unsigned at_ = 0;
  unsigned count_ = 0;
  Candidate of_[kMost];
};

void Coldest::insert(Candidate candidate) {
  if (count_ == kMost && of_[kMost - 1].last_use <= candidate.last_use) return;
  unsigned at = count_ < kMost ? count_++ : kMost - 1;
  for (; at > 0 && of_[at - 1].last_use > candidate.last_use; --at) of_[at] = of_[at - 1];
  of_[at] = candidate;
}

void Coldest::look() {
  at_ = count_ = 0;
  runtime().chunks.forEachOn(device_, [&](std::uint32_t number, Chunk& chunk) {
    if (chunk.now() == ChunkState::kDevice) {
      insert({number, chunk.last_use.load(std::memory_order_relaxed)});
    }
    return true;
  });
}

std::uint64_t hostLimit() {
  const ledger::ResidencyLine* order = runtime().swap_board.order();
  return order == nullptr ? 0 : loadRelaxed(order->host_allowed);
}

void showHostBytes() {
  ledger::storeRelaxed(runtime().swap_board.line().host_bytes, runtime().host_store.bytes());
}

}  // namespace

MoverPass::MoverPass(Mover& mover) : mover_(mover) {
  ContextUse& use = runtime().context_use;
  begun_ = use.begin();
  if (!begun_) return;
  const CUcontext context = ContextUse::on(mover.device);
  if (context == nullptr || real<Cu::cuCtxSetCurrent>()(context) != CUDA_SUCCESS) return;
  if (real<Cu::cuStreamCreate>()(&stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
    stream_ = nullptr;
  }
}

MoverPass::~MoverPass() {
  if (!begun_) return;
  if (stream_ != nullptr) real<Cu::cuStreamDestroy_v2>()(stream_);
  real<Cu::cuCtxSetCurrent>()(nullptr);
  runtime().context_use.end();
}

bool MoverPass::interrupted() const {
  return runtime().movers.stopping() || runtime().context_use.wanted();
}

bool MoverPass::fits() const {
  SwapBoard& board = runtime().swap_board;
  const ledger::ResidencyLine* order = board.order();
  return order == nullptr ||
         board.have(mover_.device) <= loadRelaxed(order->allowed[mover_.device]);
}

bool MoverPass::awaitCopy() const {
  long nap = kFirstNap;
  for (;;) {
    const CUresult result = real<Cu::cuStreamQuery>()(stream_);
    if (result == CUDA_SUCCESS) return true;
    if (result != CUDA_ERROR_NOT_READY) break;
    // Whatever it was about, it is over with the process.
    if (runtime().movers.stopping()) Movers::park(mover_);
    sys::nap(nap);
    nap = nap < kLongestNap ? nap * 2 : kLongestNap;
  }
  // Nothing may be under way to or from memory that is about to be somebody else's.
  real<Cu::cuStreamSynchronize>()(stream_);
  return false;
}

// ---- out ---------------------------------------------------------------------------------------

SwapRefusal MoverPass::out() {
  Coldest coldest(mover_.device);
  while (!fits() && !interrupted()) {
    const std::uint32_t number = coldest.next();
    if (number == ChunkTable::kNone) break;
    const SwapRefusal refused = takeOff(number);
    if (refused != SwapRefusal::kNone) return refused;
  }
  return SwapRefusal::kNone;
}

SwapRefusal MoverPass::takeOff(std::uint32_t number) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  if (!chunk.advance<ChunkState::kDevice, ChunkState::kLeaving>()) return SwapRefusal::kNone;
  SwapRefusal refused = SwapRefusal::kNone;
  std::uint32_t segment = HostStore::kNone;
  // What was freed has no contents worth keeping; another one may be at its address by now.
  if (chunk.device.load(std::memory_order_relaxed) == mover_.device && !chunk.has(kDoomed)) {
    segment = state.host_store.take(chunk.bytes, hostLimit());
    if (segment == HostStore::kNone) {
      ledger::storeRelaxed(state.swap_board.line().host_want, chunk.bytes);
      refused = SwapRefusal::kNoHostMemory;
    } else {
      refused = copyOut(chunk, segment);
    }
  }
  if (segment == HostStore::kNone || refused != SwapRefusal::kNone || fits()) {
    if (segment != HostStore::kNone) state.host_store.give(segment);
    state.swappable.leave<ChunkState::kLeaving, ChunkState::kDevice>(number);
    return refused;
  }
  const std::uint64_t bytes = chunk.bytes;
  const CUresult undone = state.backing.unmap(chunk);
  if (undone != CUDA_SUCCESS && chunk.handle != 0) {
    state.host_store.give(segment);
    state.swappable.leave<ChunkState::kLeaving, ChunkState::kDevice>(number);
    return SwapRefusal::kDriver;
  }
  chunk.host = segment;
  state.swappable.leave<ChunkState::kLeaving, ChunkState::kOut>(number);
  bumpShared(state.swap_board.line().chunks_out, 1);
  showHostBytes();
  // A handle that could not be released may hold its memory for ever.
  if (undone == CUDA_SUCCESS) state.swap_board.giveRoom(mover_.device, bytes);
  return undone == CUDA_SUCCESS ? SwapRefusal::kNone : SwapRefusal::kDriver;
}

SwapRefusal MoverPass::copyOut(Chunk& chunk, std::uint32_t segment) {
  Runtime& state = runtime();
  state.host_store.pin(segment, state.context_use.ended());
  const std::uint64_t begun = sys::now();
  const CUresult result = real<Cu::cuMemcpyDtoHAsync_v2>()(state.host_store.at(segment),
                                                           chunk.address, chunk.bytes, stream_);
  if (!awaitCopy() || result != CUDA_SUCCESS) return SwapRefusal::kDriver;
  ledger::SwapDevice& figures = state.swap_board.device(mover_.device);
  bumpShared(figures.out_bytes, chunk.bytes);
  bumpShared(figures.out_ns, sys::now() - begun);
  return SwapRefusal::kNone;
}

// ---- in ----------------------------------------------------------------------------------------

SwapRefusal MoverPass::in() {
  SwapRefusal refused = SwapRefusal::kNone;
  bool no_room = false;
  runtime().chunks.forEachOn(mover_.device, [&](std::uint32_t number, Chunk& chunk) {
    const ChunkState now = chunk.now();
    if (now == ChunkState::kOut) refused = bring<ChunkState::kOut>(number, &no_room);
    if (now == ChunkState::kBorn) refused = bring<ChunkState::kBorn>(number, &no_room);
    return refused == SwapRefusal::kNone && !no_room && !interrupted();
  });
  return refused;
}

SwapRefusal MoverPass::inBeyond() {
  std::uint64_t missing = kCardMargin;
  runtime().chunks.forEachOn(mover_.device, [&](std::uint32_t, Chunk& chunk) {
    const ChunkState now = chunk.now();
    if (now == ChunkState::kOut || now == ChunkState::kBorn) missing += chunk.bytes;
    return true;
  });
  std::size_t free = 0, total = 0;
  if (real<Cu::cuMemGetInfo_v2>()(&free, &total) != CUDA_SUCCESS) return SwapRefusal::kDriver;
  if (free < missing) return SwapRefusal::kNoDeviceMemory;
  runtime().swap_board.raise(ledger::kSwapSelfHelp);
  beyond_ = true;
  return in();
}

bool MoverPass::takeRoom(std::uint64_t bytes) const {
  SwapBoard& board = runtime().swap_board;
  if (board.takeRoom(mover_.device, bytes)) return true;
  if (beyond_) board.takeBeyond(mover_.device, bytes);
  return beyond_;
}

template <ChunkState kFrom>
SwapRefusal MoverPass::bring(std::uint32_t number, bool* no_room) {
  Runtime& state = runtime();
  Chunk& chunk = state.chunks.chunk(number);
  if (!chunk.advance<kFrom, ChunkState::kComing>()) return SwapRefusal::kNone;
  const std::uint64_t bytes = chunk.bytes;
  const bool ours = chunk.device.load(std::memory_order_relaxed) == mover_.device;
  // What was freed is not worth bringing.
  if (!ours || chunk.has(kDoomed) || !takeRoom(bytes)) {
    *no_room = ours && !chunk.has(kDoomed);
    state.swappable.leave<ChunkState::kComing, kFrom>(number);
    return SwapRefusal::kNone;
  }
  bool mapped = false;
  const SwapRefusal refused = fill(chunk, kFrom == ChunkState::kOut, &mapped);
  if (refused != SwapRefusal::kNone) {
    if (!mapped) state.swap_board.giveRoom(mover_.device, bytes);
    state.swappable.leave<ChunkState::kComing, kFrom>(number);
    return refused;
  }
  if (kFrom == ChunkState::kOut) {
    state.host_store.give(chunk.host);
    chunk.host = HostStore::kNone;
  }
  state.swappable.leave<ChunkState::kComing, ChunkState::kDevice>(number);
  bumpShared(state.swap_board.line().chunks_in, 1);
  return SwapRefusal::kNone;
}

// `mapped`: device memory stands behind the chunk, also where it could not be filled.
SwapRefusal MoverPass::fill(Chunk& chunk, bool from_host, bool* mapped) {
  Runtime& state = runtime();
  const std::uint64_t begun = sys::now();
  const CUresult made = state.backing.map(chunk);
  if (made == CUDA_ERROR_OUT_OF_MEMORY) return SwapRefusal::kNoDeviceMemory;
  if (made != CUDA_SUCCESS) return SwapRefusal::kDriver;
  if (!from_host) return SwapRefusal::kNone;
  state.host_store.pin(chunk.host, state.context_use.ended());
  const CUresult result = real<Cu::cuMemcpyHtoDAsync_v2>()(
      chunk.address, state.host_store.at(chunk.host), chunk.bytes, stream_);
  if (!awaitCopy() || result != CUDA_SUCCESS) {
    *mapped = state.backing.unmap(chunk) != CUDA_SUCCESS;
    return SwapRefusal::kDriver;
  }
  ledger::SwapDevice& figures = state.swap_board.device(mover_.device);
  bumpShared(figures.in_bytes, chunk.bytes);
  bumpShared(figures.in_ns, sys::now() - begun);
  return SwapRefusal::kNone;
}

}  // namespace divvy::interposer
