#include "ptx/run.h"

#include <algorithm>

#include "machine/thread.h"

namespace divvy::ptx {
namespace {

// A block that does not end in so many instructions may wait for another one: that gets a turn.
constexpr std::uint64_t kBlockTurn = 4'000'000;
// Once there are several under way each has short turns: they meet again and again.
constexpr std::uint64_t kSharedTurn = 100'000;
// So many blocks can be under way at once.
constexpr std::size_t kMaxResident = 256;
constexpr std::uint64_t kStep = 5'000'000;

std::vector<std::uint64_t> fixConstants(const Grid& grid, const SharedLayout& layout) {
  std::vector<std::uint64_t> constants = grid.program->constants;
  for (const ConstantFix& fix : grid.program->fixes) {
    std::uint64_t value = 0;
    if (fix.shared) {
      value = layout.offsets[fix.symbol] + (fix.generic ? kSharedWindow : 0);
    } else if (fix.symbol < grid.launch.globals.size()) {
      value = grid.launch.globals[fix.symbol];
    }
    constants[fix.index] += value;
  }
  return constants;
}

}  // namespace

struct Run::Impl {
  Grid grid;
  std::vector<std::unique_ptr<Block>> blocks;
  std::size_t turn = 0;          // the block that runs
  std::uint64_t turn_begin = 0;  // when it began to
  std::uint64_t next_block = 0;
  std::uint64_t all_blocks = 0;

  std::ptrdiff_t busyBlocks() const {
    return std::count_if(blocks.begin(), blocks.end(), [](const auto& b) { return b->busy; });
  }
  void startBlock();
  void rotate();
};

// In a place of its own, or that of a block that has ended.
void Run::Impl::startBlock() {
  const auto& size = grid.launch.grid;
  const std::uint64_t i = next_block++;
  const std::array<unsigned, 3> id{static_cast<unsigned>(i % size[0]),
                                   static_cast<unsigned>(i / size[0] % size[1]),
                                   static_cast<unsigned>(i / size[0] / size[1])};
  turn = 0;
  while (turn < blocks.size() && blocks[turn]->busy) ++turn;
  if (turn == blocks.size()) blocks.push_back(std::make_unique<Block>());
  blocks[turn]->begin(grid, id);
  turn_begin = grid.executed;
}

void Run::Impl::rotate() {
  if (next_block < all_blocks && static_cast<std::size_t>(busyBlocks()) < kMaxResident) {
    startBlock();
    return;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    turn = (turn + 1) % blocks.size();
    if (blocks[turn]->busy) break;
  }
  turn_begin = grid.executed;
}

Run::Run(Launch launch) : impl_(std::make_unique<Impl>()) {
  Grid& grid = impl_->grid;
  grid.launch = std::move(launch);
  grid.program = &grid.launch.module->program();
  const std::uint32_t function = grid.program->kernel_functions[grid.launch.kernel];
  grid.entry = &grid.program->functions[function];
  grid.launch.params.resize(grid.program->kernels[grid.launch.kernel].param_bytes);
  const SharedLayout layout = layOutShared(*grid.program, function);
  grid.static_shared = layout.static_bytes;
  grid.constants = fixConstants(grid, layout);
  const auto& size = grid.launch.grid;
  impl_->all_blocks = std::uint64_t{size[0]} * size[1] * size[2];
}

Run::~Run() = default;

Progress Run::step(std::uint64_t instructions) {
  Grid& grid = impl_->grid;
  const std::uint64_t limit = grid.executed + instructions;
  if (const std::uint64_t epoch = grid.launch.memory->epoch(); epoch != grid.epoch) {
    grid.ranges = {};
    grid.epoch = epoch;
  }
  while (grid.executed < limit) {
    if (grid.fault.kind != FaultKind::kNone) return Progress::kFault;
    const bool running = impl_->turn < impl_->blocks.size() && impl_->blocks[impl_->turn]->busy;
    if (!running) {
      impl_->rotate();
      if (impl_->blocks.empty() || !impl_->blocks[impl_->turn]->busy) return Progress::kDone;
    }
    Block& block = *impl_->blocks[impl_->turn];
    const std::uint64_t turn_end =
        impl_->turn_begin + (impl_->busyBlocks() > 1 ? kSharedTurn : kBlockTurn);
    const std::uint64_t end = std::min(limit, turn_end);
    if (block.step(end > grid.executed ? end - grid.executed : 1)) {
      block.busy = false;
    } else if (grid.executed >= turn_end) {
      impl_->rotate();
    }
  }
  return grid.fault.kind != FaultKind::kNone ? Progress::kFault : Progress::kRunning;
}

const Fault& Run::fault() const {
  return impl_->grid.fault;
}

std::uint64_t Run::executed() const {
  return impl_->grid.executed;
}

Fault runToEnd(Launch launch, const std::function<bool()>& stop) {
  Run run(std::move(launch));
  for (;;) {
    const Progress progress = run.step(kStep);
    if (progress == Progress::kDone) return {};
    if (progress == Progress::kFault) return run.fault();
    if (stop != nullptr && stop()) return {};
  }
}

}  // namespace divvy::ptx
