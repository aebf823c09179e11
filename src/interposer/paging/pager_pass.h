// The actions of a pager on the chunks of its device between two reads of its orders.
#pragma once

#include <cstdint>

#include "paging/chunk.h"
#include "paging/copy_pipeline.h"
#include "paging/pager.h"

namespace divvy::interposer {

// For its scope a context of the device is current in the calling pager thread, and copies run in
// that context. During a copy the next chunk is prepared and the room of the last one given back.
class PagerPass {
 public:
  explicit PagerPass(Pager& pager);
  ~PagerPass();
  PagerPass(const PagerPass&) = delete;
  PagerPass& operator=(const PagerPass&) = delete;

  // Returns false if there is no context now, or if it is about to end.
  bool ready() const { return copies_.isOpen(); }

  // Swaps chunks out, coldest first, until the rest fits. The gate must be closed. Returns kNone if
  // the rest fits, if no more chunks can leave, or if another thread needs the context.
  ledger::SwapRefusal out();
  // Swaps chunks in while there is room for them and no other thread needs the context.
  ledger::SwapRefusal in();

  // As in(), beyond the memory that the agent allows. Returns kNoDeviceMemory, without effect, if
  // the device has no room for all missing chunks.
  ledger::SwapRefusal inBeyond();

  // Maps host memory behind every missing chunk, to be used in place, while the order allows it.
  ledger::SwapRefusal toHost();
  // Moves chunks from host memory to the device, hottest first, as far as there is room. The gate
  // must be closed. Swaps other chunks out for chunks that are about to be pinned, and for
  // `exchanged` further bytes.
  ledger::SwapRefusal backFromHost(std::uint64_t exchanged);
  // Takes hot chunks out of mapped host memory, so that in() brings them in before cold chunks that
  // are swapped out. The gate must be closed and stays closed.
  ledger::SwapRefusal preferHot();

  // Returns the bytes of a device's hot chunks in mapped host memory that could change places with
  // cold chunks on the device.
  static std::uint64_t worthExchanging(const Pager& pager);

  // Returns whether another thread needs the context, or the process ends.
  bool interrupted() const;

 private:
  enum class Way : std::uint8_t { kSwappedOut, kIn, kToHost, kFromHost };

  bool fits(std::uint64_t leaving) const;
  bool takeRoom(std::uint64_t bytes) const;

  // Waits for the oldest copy and completes its chunk's swap; landAll() does so for all copies.
  template <Way kWay>
  ledger::SwapRefusal land();
  template <Way kWay>
  ledger::SwapRefusal landAll(ledger::SwapRefusal before);
  // Stops all copies. Their results are unknown, so every chunk returns to its previous state.
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

  // ---- with host memory: paging/pager_host_map.cpp
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
  bool mistaken_ = false;     // a chunk that was exchanged as cold is among those that come back
  std::uint64_t coming_ = 0;  // bytes that need room beside those that stay
  CopyPipeline copies_;
};

}  // namespace divvy::interposer
