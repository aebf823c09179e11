#include "accounting/vmm_handles.h"

#include "runtime.h"

namespace divvy::interposer {
namespace {

// A value of handles_: the application's reference count of the handle, above the block's number.
constexpr std::uint64_t kOneHold = std::uint64_t{1} << 24;
// Part of a token that distinguishes tokens of the same record, above the block's number.
constexpr std::uint64_t kGenerations = 0xffff'ff00'0000;

std::uint32_t numberOf(const Block& value) {
  return static_cast<std::uint32_t>(value.bytes & (kOneHold - 1));
}
std::uint64_t holdsOf(const Block& value) {
  return value.bytes / kOneHold;
}

}  // namespace

std::uint32_t VmmHandles::find(std::uint64_t handle) const {
  Block value;
  return handles_.find(handle, &value) ? numberOf(value) : kNone;
}

// Any address within a mapping names it, so all are searched; the call is rare.
std::uint32_t VmmHandles::findMapped(std::uint64_t address) {
  std::uint32_t found = kNone;
  mappings_.forEach([&](std::uint32_t, const Mapping& mapping) {
    if (address < mapping.address || address - mapping.address >= mapping.bytes) return true;
    found = mapping.block;
    return false;
  });
  return found;
}

void VmmHandles::addHandle(std::uint64_t handle, std::uint32_t block) {
  if (handles_.add(handle, kOneHold)) return;
  handles_.insert(handle, {block + kOneHold, 0, BlockKind::kOther});
}

void VmmHandles::drop(std::uint32_t block) {
  PhysicalBlock& gone = blocks_.at(block);
  if (gone.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::uint64_t bytes = gone.bytes;
  const unsigned device = gone.device;
  const std::uint32_t swap = gone.swap;
  blocks_.give(block);
  if (swap != 0) {
    runtime().swappable.abandon(swap - 1);
  } else {
    runtime().tenant.account().release(device, bytes);
    if (runtime().swap_board.claimed()) runtime().swap_board.showPinned(device);
  }
}

bool VmmHandles::enter(std::uint64_t handle, unsigned device, std::uint64_t bytes) {
  const std::uint32_t block = blocks_.take();
  if (block == kNone) return false;
  PhysicalBlock& fresh = blocks_.at(block);
  fresh.bytes = bytes;
  fresh.device = device;
  fresh.swap = 0;
  fresh.references.store(1, std::memory_order_release);
  addHandle(handle, block);
  return true;
}

std::uint64_t VmmHandles::enterSwappable(std::uint32_t swap, unsigned device, std::uint64_t bytes) {
  const std::uint32_t block = blocks_.take();
  if (block == kNone) return 0;
  PhysicalBlock& fresh = blocks_.at(block);
  const std::uint64_t generation = (fresh.token & kGenerations) + kOneHold;
  fresh.bytes = bytes;
  fresh.device = device;
  fresh.swap = swap + 1;
  fresh.token = kTag << kTagShift | (generation & kGenerations) | block;
  fresh.references.store(1, std::memory_order_release);
  addHandle(fresh.token, block);
  return fresh.token;
}

std::uint64_t VmmHandles::retainToken(std::uint32_t block) {
  PhysicalBlock& known = blocks_.at(block);
  std::uint32_t references = known.references.load(std::memory_order_acquire);
  do {
    if (references == 0) return 0;
  } while (!known.references.compare_exchange_weak(references, references + 1,
                                                   std::memory_order_acq_rel));
  addHandle(known.token, block);
  return known.token;
}

void VmmHandles::retain(std::uint64_t handle, std::uint64_t address) {
  std::uint32_t block = find(handle);
  if (block == kNone) block = findMapped(address);
  if (block == kNone) return;
  blocks_.at(block).references.fetch_add(1, std::memory_order_acq_rel);
  addHandle(handle, block);
}

std::uint32_t VmmHandles::beginRelease(std::uint64_t handle) {
  Block value;
  if (!handles_.find(handle, &value)) return kNone;
  if (holdsOf(value) > 1) {
    handles_.add(handle, 0 - kOneHold);
  } else {
    handles_.take(handle, &value);
  }
  return numberOf(value);
}

void VmmHandles::endRelease(std::uint32_t block, std::uint64_t handle, bool released) {
  if (block == kNone) return;
  if (released) {
    drop(block);
  } else {
    addHandle(handle, block);
  }
}

std::uint32_t VmmHandles::beginMap(std::uint64_t handle) {
  const std::uint32_t block = find(handle);
  if (block != kNone) blocks_.at(block).references.fetch_add(1, std::memory_order_acq_rel);
  return block;
}

void VmmHandles::endMap(std::uint32_t block, std::uint64_t address, std::uint64_t bytes,
                        bool mapped) {
  if (block == kNone) return;
  if (!mapped) {
    drop(block);
    return;
  }
  const std::uint32_t number = mappings_.take();
  if (number == kNone) return;  // the reference stays: charged until the process ends
  Mapping& mapping = mappings_.at(number);
  mapping.block = block;
  mapping.address = address;
  mapping.bytes = bytes;
  ranges_.insert(address, {number, 0, BlockKind::kOther});
}

std::uint32_t VmmHandles::beginUnmap(std::uint64_t address, std::uint64_t bytes) {
  std::uint32_t chain = kNone;
  const std::uint64_t end = address + bytes;
  while (address < end) {
    Block value;
    if (!ranges_.take(address, &value)) {
      // A mapping that is not ours is here: continue at our next mapping.
      std::uint64_t next = end;
      mappings_.forEach([&](std::uint32_t, const Mapping& mapping) {
        if (mapping.address > address && mapping.address < next) next = mapping.address;
        return true;
      });
      address = next;
      continue;
    }
    const auto number = static_cast<std::uint32_t>(value.bytes);
    Mapping& mapping = mappings_.at(number);
    mapping.next = chain;
    chain = number;
    address += mapping.bytes;
  }
  return chain;
}

void VmmHandles::endUnmap(std::uint32_t chain, bool unmapped) {
  while (chain != kNone) {
    Mapping& mapping = mappings_.at(chain);
    const std::uint32_t number = chain;
    chain = mapping.next;
    if (!unmapped) {
      ranges_.insert(mapping.address, {number, 0, BlockKind::kOther});
      continue;
    }
    const std::uint32_t block = mapping.block;
    mapping.bytes = 0;  // so that searches through all mappings find no address in it
    mappings_.give(number);
    drop(block);
  }
}

void VmmHandles::holdForArray(std::uint64_t handle, std::uint64_t array) {
  const std::uint32_t block = beginMap(handle);
  if (block == kNone) return;
  bool known = false;
  array_holds_.forEach([&](std::uint32_t, const ArrayHold& hold) {
    known = hold.array == array && hold.block == block;
    return !known;
  });
  if (known) {
    drop(block);
    return;
  }
  const std::uint32_t number = array_holds_.take();
  if (number == kNone) return;  // the reference stays: charged until the process ends
  array_holds_.at(number).block = block;
  array_holds_.at(number).array = array;
}

void VmmHandles::endArray(std::uint64_t array) {
  array_holds_.forEach([&](std::uint32_t number, ArrayHold& hold) {
    if (hold.array != array) return true;
    const std::uint32_t block = hold.block;
    hold.array = 0;
    array_holds_.give(number);
    drop(block);
    return true;
  });
}

void VmmHandles::forgetAfterFork() {
  blocks_.forgetAfterFork();
  mappings_.forgetAfterFork();
  array_holds_.forgetAfterFork();
  handles_.forgetAfterFork();
  ranges_.forgetAfterFork();
}

}  // namespace divvy::interposer
