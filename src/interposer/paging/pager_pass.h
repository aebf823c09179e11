// One device's chunks on their way: what a mover does between two looks at its orders.
#pragma once

#include <cstdint>

#include "paging/chunk.h"
#include "paging/copy_pipeline.h"
#include "paging/pager.h"

namespace divvy::interposer {

// In its scope the calling thread, a mover's, has a context of its device current and copies under
// way in it: while one is, the next chunk is made ready and the last one's room given back.
class PagerPass {
 public:
  explicit PagerPass(Pager& pager);
  ~PagerPass();
  PagerPass(const PagerPass&) = delete;
  PagerPass& operator=(const PagerPass&) = delete;

  // False: there is no context now, or it is about to end.
  bool ready() const { return copies_.isOpen(); }

  // Takes chunks off the device until what is left fits, coldest first; the gate is closed. kNone:
  // that is so, nothing is left that can leave, or somebody else needs the context.
  ledger::SwapRefusal out();
  // Brings chunks in for as long as there is room for them and nobody else needs the context.
  ledger::SwapRefusal in();

  // The same whatever is allowed. kNoDeviceMemory, and nothing happened: the card has no room for
  // all that is missing.
  ledger::SwapRefusal inBeyond();

  // Where the order says so, what there is no room for is used where it is: maps memory of the host
  // behind every chunk that is missing.
  ledger::SwapRefusal toHost();
  // The reverse, with the gate closed: for as many as there is room for on the device, the hottest
  // first; others leave for those that are to be pinned, and for `exchanged` bytes beside them.
  ledger::SwapRefusal backFromHost(std::uint64_t exchanged);
  // What is hot there comes in with the rest, in the place of what is cold and away; the gate is
  // closed and stays so.
  ledger::SwapRefusal preferHot();

  // How many bytes of a device's chunks that are hot and used at the host could change places with
  // what is cold and on the device.
  static std::uint64_t worthExchanging(const Pager& pager);

  // Somebody else needs the context, or the process ends.
  bool interrupted() const;

 private:
  enum class Way : std::uint8_t { kSwappedOut, kIn, kToHost, kFromHost };

  bool fits(std::uint64_t leaving) const;
  bool takeRoom(std::uint64_t bytes) const;

  // Waits for the oldest copy and ends its chunk's swap; all of them.
  template <Way kWay>
  ledger::SwapRefusal land();
  template <Way kWay>
  ledger::SwapRefusal landAll(ledger::SwapRefusal before);
  // Nothing is under way any more, and nobody knows what has arrived: every chunk is as it was.
  template <Way kWay>
  ledger::SwapRefusal giveUp();

  ledger::SwapRefusal sendOff(std::uint32_t number);
  ledger::SwapRefusal takeOff(const CopyPipeline::Flight& flight);
  static void stay(std::uint32_t number, std::uint32_t segment);

  template <ChunkState kFrom>
  ledger::SwapRefusal bring(std::uint32_t number, bool* no_room);
  template <ChunkState kFrom>
  ledger::SwapRefusal make(std::uint32_t number, bool* no_room);
  ledger::SwapRefusal fill(std::uint32_t number);
  static void settle(std::uint32_t number);
  void empty(std::uint32_t number);

  // ---- with memory of the host: paging/pager_host_map.cpp
  template <ChunkState kFrom>
  ledger::SwapRefusal sendToHost(std::uint32_t number);
  static ledger::SwapRefusal landAtHost(std::uint32_t number);
  ledger::SwapRefusal sendBack(std::uint32_t number);
  static ledger::SwapRefusal landBack(const CopyPipeline::Flight& flight);
  static void stayAtHost(std::uint32_t number, std::uint32_t segment);
  static bool dropHost(Chunk& chunk);
  ledger::SwapRefusal leaveHost(std::uint64_t most, bool only_hot);

  Pager& pager_;
  bool begun_ = false;
  bool beyond_ = false;
  bool exchanging_ = false;
  bool mistaken_ = false;     // what was taken for cold before is among what comes back
  std::uint64_t coming_ = 0;  // bytes that are to have room beside what stays
  CopyPipeline copies_;
};

}  // namespace divvy::interposer
