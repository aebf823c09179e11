// What every allocating and freeing hook does around the driver's call.
#pragma once

#include "accounting/charge.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

// Remembers a block under `key`. One that cannot be remembered stays charged for the life of the
// process, because its free could not be told from that of memory never counted.
//
// A key that is there already stands for a block that is gone without our knowing: the driver would
// not hand it out again otherwise. What it was charged is given back.
inline void remember(AddressMap& map, std::uint64_t key, Block block, abi::Cu site) {
  Block stale;
  if (__builtin_expect(map.take(key, &stale), 0)) giveBack(stale);
  if (!map.insert(key, block)) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(site), block.bytes);
  }
}

// Memory that stays on a device whose memory is swapped: for what reason.
inline void notePinned(ChargeTarget seat, PinReason reason) {
  if (swapsOn(seat)) runtime().swap_board.notePin(reason);
}

// Memory that can be swapped is for whoever passes the gate before he uses it. The driver does not,
// where it allocates for itself by its own public name in a call that we only pass on; nor do the
// peers and network cards that a library of collectives shows its buffers to.
inline bool mayBeSwapped(ChargeTarget seat, const void* caller) {
  // Whose code it is the loader's list says, under a lock.
  if (!swapsOn(seat) || runtime().forked.load(std::memory_order_relaxed)) return false;
  const bool of_driver = runtime().driver.holds(caller);
  if (!of_driver && !runtime().collectives.holds(caller)) return true;
  notePinned(seat, of_driver ? PinReason::kDriver : PinReason::kCollectives);
  return false;
}

// Charges `bytes` (already rounded), lets `call` ask the driver and, when it succeeds, remembers
// the block under the address or handle that it left in *out. The driver's result is the result.
template <typename Out, typename Call>
CUresult allocateOn(AddressMap& map, ChargeTarget seat, std::uint64_t bytes, BlockKind kind,
                    abi::Cu site, Out* out, Call call) {
  if (seat.verdict == ChargeVerdict::kPass) return call();
  if (seat.verdict != ChargeVerdict::kAccount) return refusal(seat);
  Charge charge(seat.device, bytes);
  if (!charge.granted()) return refuse();
  const CUresult result = call();
  if (result != CUDA_SUCCESS || out == nullptr) return result;
  charge.keep();
  remember(map, blockKey(*out), {bytes, static_cast<std::uint8_t>(seat.device), kind}, site);
  if (kind == BlockKind::kManaged) notePinned(seat, PinReason::kManaged);
  if (kind == BlockKind::kArray) notePinned(seat, PinReason::kArray);
  return result;
}

// Frees what `key` stands for in `map`. The block is taken out before the driver is asked (its
// address may be handed to another thread the moment the driver is done) and its bytes go back
// after (so that the card never holds more than is charged). Keys that are unknown reach the driver
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
