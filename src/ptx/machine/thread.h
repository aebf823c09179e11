// What executes: threads in a block, with what they share.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "program/code.h"
#include "ptx/run.h"

namespace divvy::ptx {

inline constexpr unsigned kBarriers = 16;
inline constexpr std::uint32_t kMaxStackBytes = 512U << 10;  // local, per thread, as on real cards
inline constexpr std::size_t kMaxFrames = 16384;
inline constexpr std::uint32_t kMaxFrameSlots = 64U << 10;  // of all frames of a thread

// What all blocks of a launch share.
struct Grid {
  Launch launch;
  const Program* program = nullptr;
  const Function* entry = nullptr;
  std::vector<std::uint64_t> constants;  // of the program, fixed for this launch
  std::uint64_t static_shared = 0;
  std::uint64_t epoch = 0;
  Fault fault;
  std::uint64_t executed = 0;
  // As cooperative_groups has it: its size, and the barrier of the grid.
  std::array<std::uint32_t, 2> workspace{8, 0};
  std::array<Range, 64> ranges;  // by address; a range may be in several places

  // The bytes of a device address, or nullptr.
  std::byte* find(std::uint64_t address, unsigned size, bool write) {
    Range& range = ranges[(address >> 16) % ranges.size()];
    if (address - range.begin < range.end - range.begin && range.end - address >= size &&
        (range.writable || !write)) [[likely]] {
      return range.host + (address - range.begin);
    }
    return findSlowly(address, size, write);
  }
  std::byte* findSlowly(std::uint64_t address, unsigned size, bool write);
};

// Waiting for others of the warp: what this thread brought.
struct Exchange {
  const Inst* inst = nullptr;
  std::uint32_t mask = 0;
  std::uint64_t value = 0;
  std::uint32_t lane = 0;
  std::uint32_t clamp = 0;
};

enum class State : std::uint8_t { kReady, kWarp, kActiveMask, kBarrier, kEnded };

struct Frame {
  const Function* function = nullptr;
  const Inst* next = nullptr;  // of the caller
  const CallSite* site = nullptr;
  std::uint32_t base = 0;        // of the caller, in the stack
  std::uint32_t local_base = 0;  // of the caller
};

struct Block;

struct Thread {
  // The fields that every instruction uses come first.
  std::uint64_t* regs = nullptr;
  const std::uint64_t* constants = nullptr;
  const Inst* next = nullptr;
  Block* block = nullptr;
  Grid* grid = nullptr;
  const Function* function = nullptr;
  State state = State::kReady;
  bool carry = false;
  std::uint8_t barrier = 0;
  unsigned index = 0;
  std::array<unsigned, 3> tid{};
  std::uint32_t base = 0;        // of the frame, in the stack
  std::uint32_t local_base = 0;  // of the frame, in the local memory
  std::uint64_t executed = 0;
  Exchange exchange;
  std::vector<std::uint64_t> stack;
  std::vector<std::byte> local;
  std::vector<Frame> frames;

  unsigned lane() const { return index % kWarpSize; }

  std::uint64_t raw(Operand operand) const {
    return operand >= 0 ? regs[operand] : constants[~operand];
  }
  template <typename T>
  T get(Operand operand) const {
    static_assert(sizeof(T) <= 8);
    if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(raw(operand)));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<double>(raw(operand));
    } else {
      return static_cast<T>(raw(operand));
    }
  }
  template <typename T>
  void set(Operand slot, T value) {
    if constexpr (std::is_same_v<T, float>) {
      regs[slot] = std::bit_cast<std::uint32_t>(value);
    } else if constexpr (std::is_same_v<T, double>) {
      regs[slot] = std::bit_cast<std::uint64_t>(value);
    } else {
      regs[slot] = static_cast<std::make_unsigned_t<T>>(value);
    }
  }
  bool predicate(Operand operand) const { return raw(operand) != 0; }

  // Ends the whole launch. Always false, for handlers to return.
  bool fail(const Inst& inst, FaultKind kind, std::uint64_t address = 0);
  // The bytes at an address of a space, or nullptr after failing.
  std::byte* at(const Inst& inst, Space space, std::uint64_t address, unsigned size, bool write);
  // The same, without a call for device memory.
  template <Space S>
  std::byte* reach(const Inst& inst, std::uint64_t address, unsigned size, bool write) {
    if constexpr (S == Space::kShared || S == Space::kLocal) {
      address &= kWindowBytes - 1;  // 32-bit registers wrap around
    } else if constexpr (S != Space::kParam) {
      if (address < kSharedWindow && (address & (size - 1)) == 0) {
        std::byte* const host = grid->find(address, size, write);
        if (host != nullptr) return host;
      }
    }
    return at(inst, S, address, size, write);
  }
  // Enters a function whose arguments are already in what will be its frame.
  bool enter(const Inst& inst, const CallSite& site, const Function& callee);
  // Leaves it. False at the end of the kernel.
  bool leave();
  std::byte* frameBytes(std::uint32_t slot) { return reinterpret_cast<std::byte*>(regs + slot); }
};

struct Barrier {
  unsigned arrived = 0;
  unsigned expected = 0;  // 0: all that live
  bool all = true;        // of what .red combines
  bool any = false;
  unsigned count = 0;
};

struct Block {
  Grid* grid = nullptr;
  std::array<unsigned, 3> id{};
  std::vector<Thread> threads;
  unsigned size = 0;  // threads in use
  unsigned live = 0;
  std::vector<std::uint64_t> shared_words;  // aligned for any access
  std::uint64_t shared_bytes = 0;
  std::array<Barrier, kBarriers> barriers{};
  bool busy = false;

  std::byte* shared() { return reinterpret_cast<std::byte*>(shared_words.data()); }

  // Takes the place of whatever block was here before.
  void begin(Grid& g, std::array<unsigned, 3> ctaid);
  // Runs until about that many instructions were executed. True when the block has ended. A fault
  // is in the grid.
  bool step(std::uint64_t instructions);

 private:
  bool runWarp(unsigned first, std::uint64_t limit);
  bool runThread(Thread& thread, std::uint64_t limit);
};

// A thread that arrives at a barrier; releases all when it was the last.
void arriveAt(Block& block, unsigned barrier, unsigned expected);
// Releases the barriers that nobody is missing at, as threads may have ended. True if any.
bool releaseBarriers(Block& block);
// Completes what the lanes of a warp wait for together. True if any.
bool completeWarp(Block& block, unsigned first);
// Lets those go on that asked which lanes are active. True if any.
bool completeActiveMask(Block& block, unsigned first);

}  // namespace divvy::ptx
