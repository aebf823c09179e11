#include "ipc/export.h"

#include "ipc/authentication.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/internal_thread.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint64_t kStartPatience = 2'000'000'000;
constexpr std::uint64_t kChunkPatience = 5'000'000'000;
constexpr std::uint64_t kStopPatience = 10'000'000;
constexpr long kNap = 200'000;

bool canExport(const SwapBlock& block) {
  const BackingTerms* terms =
      runtime().backing.terms(static_cast<CUdevice>(block.ordinal), block.device);
  return terms != nullptr && terms->prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
}

// The block's secret, generated at the first use. 0: no random number is available.
std::uint64_t secretOf(SwapBlock& block) {
  std::uint64_t secret = block.ipc_secret.load(std::memory_order_acquire);
  std::uint64_t fresh = 0;
  if (secret != 0 || !drawRandom(&fresh)) return secret;
  fresh |= 1;
  return block.ipc_secret.compare_exchange_strong(secret, fresh, std::memory_order_acq_rel)
             ? fresh
             : secret;
}

// The application's allocation there; false: none.
bool allocationAt(const SwapBlock& block, std::uint64_t address, IpcToken* out) {
  Arenas::Found piece;
  if (block.arena == 0) {
    out->offset = 0;
    out->requested = block.requested;
    out->id = block.buffer_id;
    return true;
  }
  if (!Arenas::find(block, address, &piece)) return false;
  out->offset = piece.address - block.address;
  out->requested = piece.piece.bytes;
  out->id = piece.piece.id;
  return true;
}

// Returns true if the block is the named one, and the allocation in it still exists.
bool isNamed(const SwapBlock& block, const IpcToken& asked) {
  IpcToken now;
  return asked.secret != 0 && block.ipc_secret.load(std::memory_order_acquire) == asked.secret &&
         block.address == asked.address &&
         allocationAt(block, asked.address + asked.offset, &now) && now.id == asked.id;
}

// Takes ownership of the chunk at an offset of a pinned block; from then on no thread ends it.
// kNone: it no longer exists, or stays busy.
std::uint32_t takeChunk(const IpcToken& asked, std::uint64_t offset) {
  const std::uint64_t address = asked.address + offset;
  ChunkTable& chunks = runtime().chunks;
  for (const std::uint64_t until = sys::now() + kChunkPatience; sys::now() < until;) {
    ChunkTable::Place place;
    if (!chunks.any() || !chunks.find(address, &place)) return ChunkTable::kNone;
    Chunk& chunk = chunks.chunk(place.chunk);
    if (chunk.advance<ChunkState::kPinned, ChunkState::kSwappingIn>()) {
      const std::uint32_t block = chunk.block.load(std::memory_order_relaxed);
      if (chunk.address == address && isNamed(chunks.block(block), asked)) return place.chunk;
      runtime().swappable.leave<ChunkState::kSwappingIn, ChunkState::kPinned>(place.chunk);
      return ChunkTable::kNone;
    }
    if (!isBusy(chunk.now())) return ChunkTable::kNone;
    sys::nap(kNap);
  }
  return ChunkTable::kNone;
}

// Receives a request and verifies that the peer is a process of this tenant; a name alone grants no
// access.
bool isWanted(const IpcSocket& peer, std::uint64_t server, IpcToken* out) {
  IpcHello hello;
  IpcChallenge challenge{IpcToken::kMagic, 0, 0};
  IpcAsk ask;
  if (!peer.receive(&hello, sizeof hello, nullptr) || hello.magic != IpcToken::kMagic ||
      !drawRandom(&challenge.nonce)) {
    return false;
  }
  const ledger::SipKey key = ipcKey();
  challenge.proof = exporterProof(key, hello, challenge.nonce, server);
  if (!peer.send(&challenge, sizeof challenge, -1) || !peer.receive(&ask, sizeof ask, nullptr)) {
    return false;
  }
  *out = ask.token;
  if (ask.token.server == server &&
      ask.proof == importerProof(key, hello, challenge.nonce, ask.token)) {
    return true;
  }
  noteFault(Fault::kIpcRefused, static_cast<std::uint32_t>(Cu::cuIpcGetMemHandle),
            ask.token.address);
  return false;
}

}  // namespace

CUresult IpcExports::nameBlock(std::uint64_t address, IpcToken* out) {
  Runtime& state = runtime();
  ChunkTable::Place place;
  if (!state.chunks.any() || !state.chunks.find(address, &place)) return CUDA_ERROR_NOT_FOUND;
  SwapBlock& block = state.chunks.block(place.block);
  // The driver does not support it either.
  if (block.isHandles() || block.pool != 0) return CUDA_ERROR_NOT_FOUND;
  *out = {IpcToken::kMagic, 0, 0, block.address, block.reserved, 0, 0, 0};
  if (!allocationAt(block, address, out)) return CUDA_ERROR_INVALID_VALUE;
  const ErrnoKeeper keeper;
  const std::uint64_t secret = canExport(block) && start() ? secretOf(block) : 0;
  if (secret == 0) {
    noteFault(Fault::kIpcRefused, static_cast<std::uint32_t>(Cu::cuIpcGetMemHandle), block.address);
    return CUDA_ERROR_NOT_FOUND;
  }
  const CUresult pinned = state.swappable.pin(place.block, PinReason::kLegacyIpc);
  if (pinned != CUDA_SUCCESS) return pinned;
  out->server = server_;
  out->secret = secret;
  return CUDA_SUCCESS;
}

// ---- the thread --------------------------------------------------------------------------------

bool IpcExports::start() {
  if (state_.load(std::memory_order_acquire) == State::kRunning) {
    if (socket_.listensAt(server_)) return true;
    return false;  // the application closed the socket, so no request would arrive
  }
  State none = State::kNone;
  if (state_.compare_exchange_strong(none, State::kStarting)) {
    const int failed = socket_.listen(&server_) ? startOwnThread(run, this) : EMFILE;
    if (failed != 0) noteFault(Fault::kNoHelper, 0, static_cast<std::uint64_t>(failed));
    state_.store(failed == 0 ? State::kRunning : State::kMissing, std::memory_order_release);
  }
  const std::uint64_t until = sys::now() + kStartPatience;
  while (state_.load(std::memory_order_acquire) == State::kStarting && sys::now() < until) {
    sys::nap(kNap);
  }
  return state_.load(std::memory_order_acquire) == State::kRunning;
}

void* IpcExports::run(void* self) {
  beginOwnThread("divvy-ipc");
  static_cast<IpcExports*>(self)->loop();
  return nullptr;
}

// A silent peer delays others for the peer timeout at most.
void IpcExports::loop() {
  while (state_.load(std::memory_order_acquire) == State::kStarting) sys::nap(kNap);
  while (!stop_.load(std::memory_order_acquire) && socket_.listensAt(server_)) {
    ScopedIpcSocket peer;
    if (socket_.accept(&peer)) {
      serve(peer);
    } else {
      sys::nap(100 * kNap);  // perhaps out of descriptors
    }
  }
  ledger::storeRelease(parked_, 1u);
  sys::wakeAll(&parked_, false);
  for (;;) sys::waitOn(&parked_, 1, 0, false);
}

void IpcExports::serve(const IpcSocket& peer) const {
  IpcToken asked;
  if (!isWanted(peer, server_, &asked) || !asked.isSound()) return;
  for (std::uint64_t offset = 0;
       offset < asked.reserved && !stop_.load(std::memory_order_acquire);) {
    const std::uint64_t bytes = handOut(peer, asked, offset);
    if (bytes == 0) return;
    offset += bytes;
  }
}

// Bytes of the chunk there; 0: there is none, or it is unavailable.
std::uint64_t IpcExports::handOut(const IpcSocket& peer, const IpcToken& asked,
                                  std::uint64_t offset) {
  IpcReply reply{IpcToken::kMagic, CUDA_ERROR_INVALID_VALUE, offset, 0};
  int fd = -1;
  const std::uint32_t number = takeChunk(asked, offset);
  if (number != ChunkTable::kNone) {
    const Chunk& chunk = runtime().chunks.chunk(number);
    reply.bytes = chunk.bytes;
    reply.result = real<Cu::cuMemExportToShareableHandle>()(
        &fd, chunk.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    runtime().swappable.leave<ChunkState::kSwappingIn, ChunkState::kPinned>(number);
  }
  const bool exported = reply.result == CUDA_SUCCESS;
  const bool sent = peer.send(&reply, sizeof reply, exported ? fd : -1);
  if (exported) sys::close(fd);
  return exported && sent ? reply.bytes : 0;
}

void IpcExports::stop() {
  stop_.store(true, std::memory_order_release);
  if (state_.load(std::memory_order_acquire) != State::kRunning) return;
  if (socket_.listensAt(server_)) socket_.shutDown();
  const std::uint64_t until = sys::now() + kStopPatience;
  while (ledger::loadAcquire(parked_) == 0 && sys::now() < until) {
    sys::waitOn(&parked_, 0, until, false);
  }
}

void IpcExports::forgetAfterFork() {
  // The parent's socket is closed, so that no peer waits for a socket without a thread.
  if (socket_.listensAt(server_)) {
    socket_.close();
  } else {
    socket_.forget();
  }
  state_.store(State::kNone, std::memory_order_relaxed);
  server_ = 0;
  parked_ = 0;
  stop_.store(false, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
