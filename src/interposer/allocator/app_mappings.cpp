#include "allocator/app_mappings.h"

#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// The part of a chunk that a view maps.
struct Part {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // 0: none
};

Part partOf(const AppMapping& view, const SwapBlock& block, const Chunk& chunk) {
  const std::uint64_t offset = chunk.address - block.address;
  const std::uint64_t bytes = view.bytes.load(std::memory_order_acquire);
  if (offset >= bytes) return {};
  const std::uint64_t left = bytes - offset;
  return {view.address + offset, left < chunk.bytes ? left : chunk.bytes};
}

}  // namespace

std::uint32_t AppMappings::begin(std::uint32_t block, std::uint64_t address, std::uint64_t bytes) {
  const std::uint32_t number = views_.take();
  if (number == kNone) return kNone;
  AppMapping& view = views_.at(number);
  view.going.store(0, std::memory_order_relaxed);
  view.block = block;
  view.slot = kMaxViews;
  view.address = address;
  for (auto& access : view.access) access.store(0, std::memory_order_relaxed);
  view.bytes.store(bytes, std::memory_order_release);
  return number;
}

bool AppMappings::publish(std::uint32_t number) {
  AppMapping& view = views_.at(number);
  SwapBlock& block = runtime().chunks.block(view.block);
  for (unsigned slot = 0; slot < kMaxViews; ++slot) {
    std::uint32_t none = 0;
    view.slot = slot;  // must precede publication
    if (block.views[slot].compare_exchange_strong(none, number + 1, std::memory_order_seq_cst)) {
      return true;
    }
  }
  view.slot = kMaxViews;
  return false;
}

void AppMappings::withdraw(std::uint32_t number) {
  const AppMapping& view = views_.at(number);
  if (view.slot == kMaxViews) return;
  runtime().chunks.block(view.block).views[view.slot].store(0, std::memory_order_seq_cst);
}

void AppMappings::end(std::uint32_t number) {
  views_.at(number).bytes.store(0, std::memory_order_release);
  views_.give(number);
}

std::uint32_t AppMappings::find(std::uint32_t block, std::uint64_t address) {
  for (const auto& slot : runtime().chunks.block(block).views) {
    const std::uint32_t number = slot.load(std::memory_order_seq_cst);
    if (number != 0 && views_.at(number - 1).covers(address)) return number - 1;
  }
  std::uint32_t found = kNone;
  views_.forEach([&](std::uint32_t number, const AppMapping& view) {
    if (view.covers(address) && view.block == block) found = number;
    return found == kNone;
  });
  return found;
}

// Sets all access rights that the application has set.
CUresult AppMappings::open(const AppMapping& view, std::uint64_t address, std::uint64_t bytes) {
  CUmemAccessDesc told[BackingTerms::kMaxAccess];
  unsigned count = 0;
  for (unsigned i = 0; i < BackingTerms::kMaxAccess; ++i) {
    const std::uint8_t access = view.access[i].load(std::memory_order_seq_cst);
    if (access == 0) continue;
    told[count] = {};
    told[count].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    told[count].location.id = static_cast<int>(i);
    told[count++].flags = static_cast<CUmemAccess_flags>(access & ~AppMapping::kTold);
  }
  return count == 0 ? CUDA_SUCCESS : real<Cu::cuMemSetAccess>()(address, bytes, told, count);
}

CUresult AppMappings::settle(Chunk& chunk, bool anew) {
  const SwapBlock& block = runtime().chunks.block(chunk.block.load(std::memory_order_relaxed));
  CUresult result = CUDA_SUCCESS;
  for (unsigned slot = 0; slot < kMaxViews && result == CUDA_SUCCESS; ++slot) {
    const std::uint32_t number = block.views[slot].load(std::memory_order_seq_cst);
    if (number == 0) continue;  // the thread that removed it unmapped it
    const AppMapping& view = views_.at(number - 1);
    const Part part = partOf(view, block, chunk);
    const std::uint32_t bit = 1u << slot;
    const bool wanted = part.bytes != 0 && view.going.load(std::memory_order_seq_cst) == 0;
    const bool seen = (chunk.shown & bit) != 0;
    if (seen && !wanted) {
      result = real<Cu::cuMemUnmap>()(part.address, part.bytes);
      if (result == CUDA_SUCCESS) chunk.shown &= ~bit;
    } else if (wanted && !seen) {
      result = real<Cu::cuMemMap>()(part.address, part.bytes, 0, chunk.handle, 0);
      if (result != CUDA_SUCCESS) break;
      chunk.shown |= bit;
    }
    if (wanted && (anew || !seen)) result = open(view, part.address, part.bytes);
  }
  return result;
}

CUresult AppMappings::close(Chunk& chunk) {
  const SwapBlock& block = runtime().chunks.block(chunk.block.load(std::memory_order_relaxed));
  for (unsigned slot = 0; slot < kMaxViews; ++slot) {
    const std::uint32_t bit = 1u << slot;
    if ((chunk.shown & bit) == 0) continue;
    const std::uint32_t number = block.views[slot].load(std::memory_order_seq_cst);
    // withdrawn before it was unmapped everywhere
    if (number == 0) return CUDA_ERROR_INVALID_VALUE;
    const Part part = partOf(views_.at(number - 1), block, chunk);
    const CUresult result = real<Cu::cuMemUnmap>()(part.address, part.bytes);
    if (result != CUDA_SUCCESS) return result;
    chunk.shown &= ~bit;
  }
  return CUDA_SUCCESS;
}

}  // namespace divvy::interposer
