// The common part of allocating and freeing hooks, around the driver's call.
#pragma once

#include "accounting/charge.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

// Records a block under `key`. If there is no room, the block stays charged for the life of the
// process, because its free would be the same as that of memory that was never counted.
//
// If the key is recorded already, its block was freed unnoticed, because the driver would not
// return the key again otherwise. That block's charge is given back.
inline void remember(AddressMap& map, std::uint64_t key, Block block, abi::Cu site) {
  Block stale;
  if (__builtin_expect(map.take(key, &stale), 0)) giveBack(stale);
  if (!map.insert(key, block)) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(site), block.bytes);
  }
}

// Publishes that memory stays on a device, and the reason, if the device's memory is swapped.
inline void notePinned(ChargeTarget seat, PinReason reason) {
  if (swapsOn(seat)) runtime().swap_board.notePin(reason);
}

// Returns whether memory for `caller` (a code address) may be swappable. Every user of swappable
// memory has to pass the gate first. The driver does not when it allocates for itself through its
// own public function in a call that is only passed on. Peers and network cards do not either, to
// which a collectives library shows its buffers.
inline bool mayBeSwapped(ChargeTarget seat, const void* caller) {
  // The loader's list identifies the library of the code; reading it takes a lock.
  if (!swapsOn(seat) || runtime().forked.load(std::memory_order_relaxed)) return false;
  const bool of_driver = runtime().driver.holds(caller);
  if (!of_driver && !runtime().collectives.holds(caller)) return true;
  notePinned(seat, of_driver ? PinReason::kDriver : PinReason::kCollectives);
  return false;
}

// Charges `bytes` (already rounded) and makes the driver's call. If that succeeds, records the
// block under the address or handle in *out. Returns the driver's result, or a refusal.
template <typename Out, typename Call>
CUresult allocateOn(AddressMap& map, ChargeTarget seat, std::uint64_t bytes, BlockKind kind,
                    abi::Cu site, Out* out, Call call) {
  if (seat.verdict == ChargeVerdict::kPass) return call();
  if (seat.verdict != ChargeVerdict::kAccount) return refusal(seat);
  Charge charge(seat.device, bytes);
  if (!charge.granted()) return refuseOverLimit(bytes);
  const CUresult result = countIfDeviceFull(call(), bytes);
  if (result != CUDA_SUCCESS || out == nullptr) return result;
  charge.keep();
  remember(map, blockKey(*out), {bytes, static_cast<std::uint8_t>(seat.device), kind}, site);
  if (kind == BlockKind::kManaged) notePinned(seat, PinReason::kManaged);
  if (kind == BlockKind::kArray) notePinned(seat, PinReason::kArray);
  return result;
}

// Frees the block of `key` in `map`. Takes the block out before the driver's call, because its
// address may be given to another thread at the end of that call. Gives its bytes back after the
// call, so that the device never holds more than is charged. The driver is called for unknown keys
// too.
template <typename Call>
CUresult freeFrom(AddressMap& map, std::uint64_t key, abi::Cu site, Call call) {
  Block block;
  const bool known = map.take(key, &block);
  const CUresult result = call();
  if (!known) return result;
  if (result == CUDA_SUCCESS) {
    giveBack(block);
  } else {
    remember(map, key, block, site);
  }
  return result;
}

}  // namespace divvy::interposer
