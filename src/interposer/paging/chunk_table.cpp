#include "paging/chunk_table.h"

namespace divvy::interposer {

bool ChunkTable::setGranule(std::uint64_t bytes) {
  if (bytes < 2 || (bytes & (bytes - 1)) != 0) return false;
  const auto wanted = static_cast<unsigned>(__builtin_ctzll(bytes));
  unsigned seen = 0;
  return shift_.compare_exchange_strong(seen, wanted, std::memory_order_acq_rel) || seen == wanted;
}

std::uint32_t ChunkTable::begin() {
  const std::uint32_t number = blocks_.take();
  if (number == kNone) return kNone;
  SwapBlock& block = blocks_.at(number);
  block.references.store(1, std::memory_order_relaxed);
  block.pins.store(0, std::memory_order_relaxed);
  block.sync_memops.store(0, std::memory_order_relaxed);
  block.ipc_secret.store(0, std::memory_order_relaxed);
  block.first = block.last = kNone;
  block.count = 0;
  block.address = 0;
  block.reserved = 0;
  block.arena = 0;
  block.pool = 0;
  block.made_as = {};
  for (auto& view : block.views) view.store(0, std::memory_order_relaxed);
  return number;
}

void ChunkTable::widen(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t lowest = lowest_.load(std::memory_order_relaxed);
  while (begin < lowest &&
         !lowest_.compare_exchange_weak(lowest, begin, std::memory_order_relaxed)) {
  }
  std::uint64_t highest = highest_.load(std::memory_order_relaxed);
  while (end > highest &&
         !highest_.compare_exchange_weak(highest, end, std::memory_order_relaxed)) {
  }
}

bool ChunkTable::enterPages(std::uint32_t number, std::uint64_t address, std::uint64_t bytes) {
  const unsigned shift = shift_.load(std::memory_order_relaxed);
  const std::uint64_t end = (address + bytes) >> shift;
  widen(address, address + bytes);
  for (std::uint64_t page = address >> shift; page < end; ++page) {
    if (pages_.insert(page, {number, 0, BlockKind::kOther})) continue;
    leavePages(address, (page << shift) - address);
    return false;
  }
  return true;
}

void ChunkTable::leavePages(std::uint64_t address, std::uint64_t bytes) {
  const unsigned shift = shift_.load(std::memory_order_relaxed);
  const std::uint64_t end = (address + bytes) >> shift;
  Block gone;
  for (std::uint64_t page = address >> shift; page < end; ++page) pages_.take(page, &gone);
}

std::uint32_t ChunkTable::addChunk(std::uint32_t number, std::uint64_t address, std::uint64_t bytes,
                                   ChunkState state) {
  const std::uint32_t added = chunks_.take();
  if (added == kNone) return kNone;
  SwapBlock& block = blocks_.at(number);
  Chunk& chunk = chunks_.at(added);
  chunk.flags.store(0, std::memory_order_relaxed);
  chunk.last_use.store(0, std::memory_order_relaxed);
  chunk.named.store(0, std::memory_order_relaxed);
  chunk.behind.store(0, std::memory_order_relaxed);
  chunk.block.store(number, std::memory_order_relaxed);
  chunk.next = kNone;
  chunk.host = kNone;
  chunk.device.store(block.device, std::memory_order_relaxed);
  chunk.address = address;
  chunk.bytes = bytes;
  chunk.handle = 0;
  chunk.at_host = false;
  chunk.shown = 0;
  if (!enterPages(added, address, bytes)) {
    chunks_.give(added);
    return kNone;
  }
  block.references.fetch_add(1, std::memory_order_relaxed);
  (block.count == 0 ? block.first : chunks_.at(block.last).next) = added;
  block.last = added;
  ++block.count;
  const std::uint32_t generation = chunk.generation() + Chunk::kStateMask + 1;
  chunk.state.store(Chunk::wordOf(generation, state), std::memory_order_seq_cst);
  return added;
}

bool ChunkTable::publish(std::uint32_t number) {
  return bases_.insert(blocks_.at(number).address, {number, 0, BlockKind::kOther});
}

std::uint32_t ChunkTable::take(std::uint64_t address) {
  Block value;
  return bases_.take(address, &value) ? static_cast<std::uint32_t>(value.bytes) : kNone;
}

bool ChunkTable::take(std::uint32_t number, std::uint64_t address) {
  Block value;
  if (!bases_.find(address, &value) || value.bytes != number) return false;
  return bases_.take(address, &value);
}

bool ChunkTable::find(std::uint64_t address, Place* out) const {
  const unsigned shift = shift_.load(std::memory_order_relaxed);
  Block value;
  if (shift == 0 || !pages_.find(address >> shift, &value)) return false;
  out->chunk = static_cast<std::uint32_t>(value.bytes);
  out->block = chunks_.at(out->chunk).block.load(std::memory_order_relaxed);
  return true;
}

bool ChunkTable::drop(std::uint32_t number) {
  Chunk& chunk = chunks_.at(number);
  SwapBlock& block = blocks_.at(chunk.block.load(std::memory_order_relaxed));
  leavePages(chunk.address, chunk.bytes);
  chunk.advance<ChunkState::kFreeing, ChunkState::kFree>();
  chunks_.give(number);
  return drop(block);
}

bool ChunkTable::drop(SwapBlock& block) {
  return block.references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void ChunkTable::forgetAfterFork() {
  chunks_.forgetAfterFork();
  blocks_.forgetAfterFork();
  pages_.forgetAfterFork();
  bases_.forgetAfterFork();
  shift_.store(0, std::memory_order_relaxed);
  lowest_.store(UINT64_MAX, std::memory_order_relaxed);
  highest_.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
