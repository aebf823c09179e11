// A grid on the host: blocks one after another, the threads of a block as fibers that hand on at
// what they do together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

// Dynamic shared memory; its size does not depend on the launch here.
extern thread_local unsigned char dynamic_shared[];

namespace divvy::ptxhost {

struct Index {
  unsigned x = 1, y = 1, z = 1;
};

// Of the fiber that runs now; set before it is resumed.
inline Index current_thread, current_block, block_shape, grid_shape;

// In which order blocks and fibers take their turns: a kernel's results must not tell.
enum class Order { kForward, kBackward };

// Runs `kernel` once for every thread of the grid. Throws std::runtime_error when threads wait for
// each other in vain, and what the kernel throws is not caught (kernels do not throw).
// Not reentrant; one thread of the host at a time.
void runGrid(const Index& grid, const Index& block, Order order,
             const std::function<void()>& kernel);

// What the threads of a warp bring to a collective.
struct Gathered {
  std::uint64_t values[32];
};

// Waits until every lane of `mask` that has not ended is at a collective of the same kind with the
// same mask. The result stays valid until this thread's next collective. `kind` is any number that
// tells apart collectives at which lanes must not meet.
const Gathered& meetWarp(unsigned kind, unsigned mask, std::uint64_t value);

struct Votes {
  int count = 0;  // threads that said yes
  bool all = true;
  bool any = false;
};

// Waits until every thread of the block that has not ended is here.
Votes meetBlock(bool vote);

// This thread's place in its warp.
unsigned lane();

}  // namespace divvy::ptxhost

inline void __syncthreads() {
  divvy::ptxhost::meetBlock(false);
}
inline int __syncthreads_count(int vote) {
  return divvy::ptxhost::meetBlock(vote != 0).count;
}
inline int __syncthreads_and(int vote) {
  return divvy::ptxhost::meetBlock(vote != 0).all;
}
inline int __syncthreads_or(int vote) {
  return divvy::ptxhost::meetBlock(vote != 0).any;
}
