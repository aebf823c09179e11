#include "block.h"

#include <ucontext.h>

#include <memory>
#include <stdexcept>
#include <vector>

// What kernels declare as their dynamic shared memory.
alignas(16) thread_local unsigned char dynamic_shared[std::size_t{48} << 10];

namespace divvy::ptxhost {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

enum class Waiting { kNothing, kBlock, kWarp };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  Index index;
  bool ended = true;
  Waiting waiting = Waiting::kNothing;
  bool vote = false;
  Votes votes;
  unsigned kind = 0;
  unsigned mask = 0;
  std::uint64_t value = 0;
  Gathered gathered;
};

class Block {
 public:
  void run(Order order, const std::function<void()>& kernel);
  Votes meet(bool vote);
  const Gathered& meetLanes(unsigned kind, unsigned mask, std::uint64_t value);
  unsigned currentLane() const { return static_cast<unsigned>(running_ % 32); }

 private:
  static void body();
  void start(std::size_t which);
  void resume(std::size_t which);
  void pause() { swapcontext(&fibers_[running_]->context, &scheduler_); }
  void releaseBlock();
  void releaseLanes(std::size_t first, unsigned kind, unsigned mask);
  void releaseAfterEnd(std::size_t which);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t size_ = 0;
  std::size_t running_ = 0;
  ucontext_t scheduler_;
  const std::function<void()>* kernel_ = nullptr;
};

Block& theBlock() {
  static Block block;
  return block;
}

void Block::body() {
  Block& block = theBlock();
  (*block.kernel_)();
  block.fibers_[block.running_]->ended = true;
  block.pause();
}

void Block::start(std::size_t which) {
  if (which == fibers_.size()) fibers_.push_back(std::make_unique<Fiber>());
  Fiber& fiber = *fibers_[which];
  const unsigned linear = static_cast<unsigned>(which);
  const unsigned row = linear / block_shape.x;
  fiber.index = {linear % block_shape.x, row % block_shape.y, row / block_shape.y};
  fiber.ended = false;
  fiber.waiting = Waiting::kNothing;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &Block::body, 0);
}

void Block::resume(std::size_t which) {
  running_ = which;
  current_thread = fibers_[which]->index;
  swapcontext(&scheduler_, &fibers_[which]->context);
  if (fibers_[which]->ended) releaseAfterEnd(which);
}

void Block::run(Order order, const std::function<void()>& kernel) {
  kernel_ = &kernel;
  size_ = std::size_t{block_shape.x} * block_shape.y * block_shape.z;
  for (std::size_t which = 0; which < size_; ++which) start(which);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t turn = 0; turn < size_; ++turn) {
      const std::size_t which = order == Order::kForward ? turn : size_ - 1 - turn;
      const Fiber& fiber = *fibers_[which];
      if (fiber.ended || fiber.waiting != Waiting::kNothing) continue;
      resume(which);
      moved = true;
    }
  }
  for (std::size_t which = 0; which < size_; ++which) {
    if (!fibers_[which]->ended) throw std::runtime_error("threads wait for each other in vain");
  }
}

Votes Block::meet(bool vote) {
  Fiber& fiber = *fibers_[running_];
  fiber.waiting = Waiting::kBlock;
  fiber.vote = vote;
  releaseBlock();
  if (fiber.waiting != Waiting::kNothing) pause();
  return fiber.votes;
}

void Block::releaseBlock() {
  Votes votes;
  for (std::size_t which = 0; which < size_; ++which) {
    const Fiber& fiber = *fibers_[which];
    if (fiber.ended) continue;
    if (fiber.waiting != Waiting::kBlock) return;
    votes.count += fiber.vote ? 1 : 0;
    votes.all = votes.all && fiber.vote;
    votes.any = votes.any || fiber.vote;
  }
  for (std::size_t which = 0; which < size_; ++which) {
    fibers_[which]->votes = votes;
    fibers_[which]->waiting = Waiting::kNothing;
  }
}

const Gathered& Block::meetLanes(unsigned kind, unsigned mask, std::uint64_t value) {
  Fiber& fiber = *fibers_[running_];
  if ((mask >> currentLane() & 1U) == 0)
    throw std::runtime_error("a lane that its mask leaves out");
  fiber.waiting = Waiting::kWarp;
  fiber.kind = kind;
  fiber.mask = mask;
  fiber.value = value;
  releaseLanes(running_ / 32 * 32, kind, mask);
  if (fiber.waiting != Waiting::kNothing) pause();
  return fiber.gathered;
}

void Block::releaseLanes(std::size_t first, unsigned kind, unsigned mask) {
  Gathered gathered = {};
  for (unsigned at = 0; at < 32 && first + at < size_; ++at) {
    const Fiber& fiber = *fibers_[first + at];
    if ((mask >> at & 1U) == 0 || fiber.ended) continue;
    if (fiber.waiting != Waiting::kWarp || fiber.kind != kind || fiber.mask != mask) return;
    gathered.values[at] = fiber.value;
  }
  for (unsigned at = 0; at < 32 && first + at < size_; ++at) {
    Fiber& fiber = *fibers_[first + at];
    if ((mask >> at & 1U) == 0 || fiber.ended) continue;
    fiber.gathered = gathered;
    fiber.waiting = Waiting::kNothing;
  }
}

// Those who waited for a thread that has ended wait no longer.
void Block::releaseAfterEnd(std::size_t which) {
  releaseBlock();
  const std::size_t first = which / 32 * 32;
  for (std::size_t other = first; other < first + 32 && other < size_; ++other) {
    const Fiber& fiber = *fibers_[other];
    if (!fiber.ended && fiber.waiting == Waiting::kWarp) {
      releaseLanes(first, fiber.kind, fiber.mask);
    }
  }
}

}  // namespace

void runGrid(const Index& grid, const Index& block, Order order,
             const std::function<void()>& kernel) {
  grid_shape = grid;
  block_shape = block;
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
  for (std::size_t turn = 0; turn < blocks; ++turn) {
    const auto linear = static_cast<unsigned>(order == Order::kForward ? turn : blocks - 1 - turn);
    const unsigned row = linear / grid.x;
    current_block = {linear % grid.x, row % grid.y, row / grid.y};
    theBlock().run(order, kernel);
  }
}

const Gathered& meetWarp(unsigned kind, unsigned mask, std::uint64_t value) {
  return theBlock().meetLanes(kind, mask, value);
}
Votes meetBlock(bool vote) {
  return theBlock().meet(vote);
}
unsigned lane() {
  return theBlock().currentLane();
}

}  // namespace divvy::ptxhost
