#include "allocator/arena.h"

#include "runtime.h"

namespace divvy::interposer {

// Arena numbers are kept in blocks with 1 added; 0: none.
Arenas::Arena* Arenas::enter(const SwapBlock& block) {
  Runtime& state = runtime();
  Arena& arena = state.arenas.arenas_.at(block.arena - 1);
  if (!arena.enter()) return nullptr;
  // The record may be of another arena by now.
  if (&state.chunks.block(arena.block) == &block && arena.address == block.address) return &arena;
  leave(arena, 0);
  return nullptr;
}

// The thread that closes an arena ends its block. The thread that leaves a closed one last returns
// the record.
void Arenas::leave(Arena& arena, std::uint32_t gone) {
  const std::uint64_t now =
      arena.users.fetch_sub(Arena::kInside + gone, std::memory_order_acq_rel) - Arena::kInside -
      gone;
  if ((now & Arena::kOpen) == 0) {
    if ((now & ~Arena::kPieces) == 0) giveUp(arena);
    return;
  }
  std::uint64_t empty = Arena::kOpen;
  if (now != empty || !arena.users.compare_exchange_strong(empty, 0, std::memory_order_acq_rel)) {
    return;
  }
  Runtime& state = runtime();
  const std::uint32_t block = arena.block;
  state.chunks.take(block, arena.address);
  giveUp(arena);
  state.swappable.abandon(block);
}

void Arenas::giveUp(Arena& arena) {
  runtime().arenas.arenas_.give(arena.number);
}

bool Arenas::close(const SwapBlock& block) {
  Arena* arena = enter(block);
  if (arena == nullptr) return false;
  const std::uint64_t was = arena->users.fetch_and(~Arena::kOpen, std::memory_order_acq_rel);
  leave(*arena, 0);
  return (was & Arena::kOpen) != 0;
}

// ---- pieces ------------------------------------------------------------------------------------

CUdeviceptr Arenas::takeFrom(Arena& arena, const ArenaOwner& owner, std::uint64_t bytes,
                             std::uint64_t id, std::uint64_t* held) {
  if (!arena.enter()) return 0;
  std::uint32_t piece = ArenaUnits::kNone;
  if (arena.owner == owner) {
    *held += arena.bytes;
    piece = arena.pieces.take(static_cast<std::uint32_t>(bytes), id);
  }
  if (piece != ArenaUnits::kNone) arena.users.fetch_add(1, std::memory_order_acq_rel);
  const CUdeviceptr address = piece == ArenaUnits::kNone ? 0 : arena.addressOf(piece);
  leave(arena, 0);
  return address;
}

CUdeviceptr Arenas::take(const ArenaOwner& owner, std::uint64_t bytes, std::uint64_t id,
                         std::uint64_t granule, std::uint64_t most) {
  CUdeviceptr address = 0;
  std::uint64_t held = 0;
  arenas_.forEach([&](std::uint32_t, Arena& arena) {
    address = takeFrom(arena, owner, bytes, id, &held);
    return address == 0;
  });
  if (address != 0) return address;
  const std::uint64_t wanted = held < granule ? granule : held < most ? held : most;
  Arena* arena = wanted > granule ? make(owner, wanted, true) : nullptr;
  if (arena == nullptr) arena = make(owner, granule, false);
  if (arena == nullptr) return 0;
  const std::uint32_t piece = arena->pieces.take(static_cast<std::uint32_t>(bytes), id);
  const CUdeviceptr made = arena->addressOf(piece);
  arena->users.store(Arena::kOpen + 1, std::memory_order_release);
  return made;
}

// Makes an arena that no other thread can enter yet.
Arenas::Arena* Arenas::make(const ArenaOwner& owner, std::uint64_t bytes, bool spare) {
  const std::uint32_t number = arenas_.take();
  if (number == Slab<Arena>::kNone) return nullptr;
  Arena& arena = arenas_.at(number);
  arena.number = number;
  arena.owner = owner;
  arena.bytes = bytes;
  arena.doomed.store(0, std::memory_order_relaxed);
  arena.due.store(0, std::memory_order_relaxed);
  if (arena.pieces.begin(static_cast<std::uint32_t>(bytes / ArenaUnits::kUnit)) &&
      back(arena, owner, bytes, spare)) {
    return &arena;
  }
  giveUp(arena);
  return nullptr;
}

bool Arenas::back(Arena& arena, const ArenaOwner& owner, std::uint64_t bytes, bool spare) {
  Runtime& state = runtime();
  arena.block = state.swappable.createArena(owner, bytes, arena.number + 1, spare);
  if (arena.block == ChunkTable::kNone) return false;
  arena.address = state.chunks.block(arena.block).address;
  if (state.chunks.publish(arena.block)) return true;
  state.swappable.abandon(arena.block);
  return false;
}

bool Arenas::find(const SwapBlock& block, std::uint64_t address, Found* out) {
  Arena* arena = enter(block);
  if (arena == nullptr) return false;
  const std::uint32_t piece = arena->pieces.find(arena->unitOf(address), &out->piece);
  out->address = arena->addressOf(piece);
  leave(*arena, 0);
  return piece != ArenaUnits::kNone;
}

void Arenas::setSyncMemops(const SwapBlock& block, std::uint64_t address, bool set) {
  Arena* arena = enter(block);
  if (arena == nullptr) return;
  ArenaUnits::ArenaUnit found;
  const std::uint32_t piece = arena->pieces.find(arena->unitOf(address), &found);
  if (piece != ArenaUnits::kNone) arena->pieces.setSyncMemops(piece, set);
  leave(*arena, 0);
}

bool Arenas::endPiece(const SwapBlock& block, std::uint64_t address, bool deferred) {
  Arena* arena = enter(block);
  if (arena == nullptr) return false;
  ArenaUnits::ArenaUnit found;
  const std::uint32_t piece = arena->pieces.find(arena->unitOf(address), &found);
  const bool own = piece != ArenaUnits::kNone && arena->addressOf(piece) == address &&
                   arena->pieces.end(piece, deferred);
  if (own && deferred) arena->doomed.fetch_add(1, std::memory_order_acq_rel);
  if (own && !deferred) arena->pieces.give(piece);
  leave(*arena, own && !deferred ? 1 : 0);
  return own;
}

bool Arenas::beginFree(const SwapBlock& block, std::uint64_t address, std::uint32_t* bytes) {
  Arena* arena = enter(block);
  if (arena == nullptr) return false;
  ArenaUnits::ArenaUnit found;
  const std::uint32_t piece = arena->pieces.find(arena->unitOf(address), &found);
  const bool own = piece != ArenaUnits::kNone && arena->addressOf(piece) == address &&
                   arena->pieces.end(piece, false);
  if (own) *bytes = found.bytes;
  leave(*arena, 0);
  return own;
}

void Arenas::finishFree(const SwapBlock& block, std::uint64_t address) {
  Arena* arena = enter(block);
  if (arena == nullptr) return;
  arena->pieces.give(arena->unitOf(address));
  leave(*arena, 1);
}

bool Arenas::revive(const SwapBlock& block, std::uint64_t address, std::uint32_t bytes,
                    std::uint64_t id) {
  Arena* arena = enter(block);
  if (arena == nullptr) return false;
  arena->pieces.revive(arena->unitOf(address), bytes, id);
  leave(*arena, 0);
  return true;
}

void Arenas::markDue() {
  arenas_.forEach([](std::uint32_t, Arena& arena) {
    if (arena.doomed.load(std::memory_order_acquire) == 0 || !arena.enter()) return true;
    const std::uint32_t spent = arena.pieces.spend();
    arena.due.fetch_add(spent, std::memory_order_acq_rel);
    arena.doomed.fetch_sub(spent, std::memory_order_acq_rel);
    leave(arena, 0);
    return true;
  });
}

}  // namespace divvy::interposer
