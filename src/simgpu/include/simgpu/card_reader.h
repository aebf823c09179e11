// The truth about a simulated card, read from its shared file: for tests and benches, which judge
// Divvy by it, never by Divvy's own counters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::simgpu {

// The use of a byte on the card.
enum class Charge : int {
  kContext,  // cost of a context
  kPlain,    // cuMemAlloc, cuMemAllocPitch
  kManaged,  // cuMemAllocManaged, pages now on the card
  kPool,     // reserved by stream-ordered pools
  kVmm,      // cuMemCreate
  kArray,    // CUDA arrays and mipmapped arrays
  kGraph,    // graph memory nodes
  kModule,   // code and globals of modules, device heaps
};
inline constexpr int kChargeKinds = 8;

std::string_view chargeName(Charge kind);

struct ProcessView {
  int pid;  // where the reader is; 0: it is not seen from there
  std::uint64_t start_time;
  std::uint64_t bytes;  // all kinds, shared blocks that it exported included
  std::array<std::uint64_t, kChargeKinds> by_kind;
  std::uint64_t saved;  // bytes that a checkpoint took off the card, to be restored
  int contexts;
  int record;  // index in the card file; also names the process's log of executed intervals
  std::string name;
};

struct CardView {
  std::uint64_t capacity;  // limit of all processes together
  std::uint64_t used;      // sum over live processes and shared blocks, exact
  std::uint64_t peak;      // the highest `used` ever, exact: no moment is missed
  // Number of cuMemUnmap that took memory away while pending work of the same process on this card
  // touches it. Includes kernels with unknown accesses, and kernels that came to such memory later.
  // Correct programs leave it at 0.
  std::uint64_t unmapped_under_work;
  std::vector<ProcessView> processes;
};

// Opens (never creates) the card's file and recomputes all sums from the records of live processes.
// Takes the card's lock for the copy. nullopt: no such card has been used yet, or not a card file.
// Thread-safe. Keeps one descriptor per card open for the life of the process.
std::optional<CardView> readCard(const std::string& dir, int index);

// The directory that SIMGPU_DIR and SIMGPU_PROFILE in this process's environment select.
std::string cardDirectory();

}  // namespace divvy::simgpu
