#include <algorithm>

#include "machine/thread.h"

namespace divvy::ptx {
namespace {

// A thread's turn, in instructions: long enough that turns cost nothing, short enough that a
// thread that spins does not keep the one it waits for from its turn.
constexpr unsigned kTurn = 10'000;

void beginThread(Thread& thread, Block& block, unsigned index) {
  Grid& grid = *block.grid;
  const auto& size = grid.launch.block;
  thread.constants = grid.constants.data();
  thread.block = &block;
  thread.grid = &grid;
  thread.function = grid.entry;
  thread.next = grid.entry->code.data();
  thread.state = State::kReady;
  thread.carry = false;
  thread.index = index;
  thread.tid = {index % size[0], index / size[0] % size[1], index / size[0] / size[1]};
  thread.base = 0;
  thread.local_base = 0;
  thread.executed = 0;
  thread.frames.clear();
  thread.stack.resize(std::max<std::size_t>(thread.stack.size(), grid.entry->slots));
  std::fill_n(thread.stack.begin(), grid.entry->slots, 0);
  thread.local.assign(grid.entry->local_bytes, std::byte{0});
  thread.regs = thread.stack.data();
}

}  // namespace

void Block::begin(Grid& g, std::array<unsigned, 3> ctaid) {
  grid = &g;
  id = ctaid;
  busy = true;
  const auto& shape = g.launch.block;
  size = live = shape[0] * shape[1] * shape[2];
  threads.resize(size);
  shared_bytes = g.static_shared + g.launch.dynamic_shared;
  shared_words.assign((shared_bytes + 15) / 8, 0);
  barriers = {};
  for (unsigned i = 0; i < size; ++i) beginThread(threads[i], *this, i);
}

bool Block::runThread(Thread& thread, std::uint64_t limit) {
  const std::uint64_t room = limit > grid->executed ? limit - grid->executed : 1;
  const auto turn = static_cast<unsigned>(std::min<std::uint64_t>(kTurn, room));
  unsigned left = turn;
  do {
    const Inst& inst = *thread.next++;
    if (inst.guard >= 0 && (thread.regs[inst.guard] != 0) == inst.guard_negated) continue;
    if (!inst.run(inst, thread)) {
      --left;
      break;
    }
  } while (--left != 0);
  grid->executed += turn - left;
  thread.executed += turn - left;
  return grid->fault.kind == FaultKind::kNone;
}

// True if anything happened.
bool Block::runWarp(unsigned first, std::uint64_t limit) {
  const unsigned end = std::min(size, first + kWarpSize);
  bool moved = false;
  for (;;) {
    bool ready = false;
    for (unsigned i = first; i < end; ++i) {
      Thread& thread = threads[i];
      if (thread.state != State::kReady) continue;
      moved = true;
      if (!runThread(thread, limit)) return true;
      ready = ready || thread.state == State::kReady;
    }
    const bool completed =
        completeWarp(*this, first) || (!ready && completeActiveMask(*this, first));
    moved = moved || completed;
    if (!completed || grid->executed >= limit) return moved;
  }
}

bool Block::step(std::uint64_t instructions) {
  const std::uint64_t limit = grid->executed + instructions;
  for (;;) {
    bool moved = false;
    for (unsigned first = 0; first < size; first += kWarpSize) {
      moved = runWarp(first, limit) || moved;
      if (grid->fault.kind != FaultKind::kNone) return true;
    }
    moved = releaseBarriers(*this) || moved;
    if (live == 0) return true;
    if (grid->executed >= limit) return false;
    if (!moved) {
      const auto waits = std::find_if(threads.begin(), threads.begin() + size,
                                      [](const Thread& t) { return t.state != State::kEnded; });
      grid->fault = {.kind = FaultKind::kDeadlock,
                     .address = 0,
                     .line = static_cast<int>(waits->next[-1].line)};
      return true;
    }
  }
}

}  // namespace divvy::ptx
