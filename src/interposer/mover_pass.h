// One device's chunks on their way: what a mover does between two looks at its orders.
#pragma once

#include <cstdint>

#include "abi/cuda_types.h"
#include "chunk.h"
#include "mover.h"

namespace divvy::interposer {

// In its scope the calling thread, a mover's, has a context of its device current and a stream of
// its own in it. One at a time in a process.
class MoverPass {
 public:
  explicit MoverPass(Mover& mover);
  ~MoverPass();
  MoverPass(const MoverPass&) = delete;
  MoverPass& operator=(const MoverPass&) = delete;

  // False: there is no context now, or it is about to end.
  bool ready() const { return stream_ != nullptr; }

  // Takes chunks off the device until what is left fits, coldest first; the gate is closed. kNone:
  // that is so, nothing is left that can leave, or somebody else needs the context.
  ledger::SwapRefusal out();
  // Brings chunks in for as long as there is room for them and nobody else needs the context.
  ledger::SwapRefusal in();

  // The same whatever is allowed. kNoDeviceMemory, and nothing happened: the card has no room for
  // all that is missing.
  ledger::SwapRefusal inBeyond();

  // Somebody else needs the context, or the process ends.
  bool interrupted() const;

 private:
  bool fits() const;
  bool takeRoom(std::uint64_t bytes) const;
  bool awaitCopy() const;
  ledger::SwapRefusal takeOff(std::uint32_t number);
  ledger::SwapRefusal copyOut(Chunk& chunk, std::uint32_t segment);
  template <ChunkState kFrom>
  ledger::SwapRefusal bring(std::uint32_t number, bool* no_room);
  ledger::SwapRefusal fill(Chunk& chunk, bool from_host, bool* mapped);

  Mover& mover_;
  bool begun_ = false;
  bool beyond_ = false;
  CUstream stream_ = nullptr;
};

}  // namespace divvy::interposer
