// Special registers: who a thread is and what time it is.
#include <chrono>

#include "machine/decode.h"
#include "machine/thread.h"

namespace divvy::ptx {
namespace {

enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLane,
  kWarp,
  kWarps,
  kMaskEq,
  kMaskLe,
  kMaskLt,
  kMaskGe,
  kMaskGt,
  kClock,
  kClockHigh,
  kTimer,
  kTimerLow,
  kTimerHigh,
  kDynamicShared,
  kTotalShared,
  kWorkspaceHigh,
  kWorkspaceLow,
  kZero,
  kOne,
};

struct Row {
  std::string_view name;
  Special special;
};

constexpr Row kRows[] = {
    {"%tid.x", Special::kTidX},
    {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},
    {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},
    {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},
    {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},
    {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY},
    {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLane},
    {"%warpid", Special::kWarp},
    {"%nwarpid", Special::kWarps},
    {"%lanemask_eq", Special::kMaskEq},
    {"%lanemask_le", Special::kMaskLe},
    {"%lanemask_lt", Special::kMaskLt},
    {"%lanemask_ge", Special::kMaskGe},
    {"%lanemask_gt", Special::kMaskGt},
    {"%clock", Special::kClock},
    {"%clock_hi", Special::kClockHigh},
    {"%clock64", Special::kTimer},
    {"%globaltimer", Special::kTimer},
    {"%globaltimer_lo", Special::kTimerLow},
    {"%globaltimer_hi", Special::kTimerHigh},
    {"%dynamic_smem_size", Special::kDynamicShared},
    {"%total_smem_size", Special::kTotalShared},
    {"%aggr_smem_size", Special::kTotalShared},
    {"%envreg1", Special::kWorkspaceHigh},
    {"%envreg2", Special::kWorkspaceLow},
    // One multiprocessor, grids without a number, clusters of one block.
    {"%smid", Special::kZero},
    {"%nsmid", Special::kOne},
    {"%gridid", Special::kZero},
    {"%current_graph_exec", Special::kZero},
    {"%is_explicit_cluster", Special::kZero},
    {"%cluster_ctarank", Special::kZero},
    {"%cluster_nctarank", Special::kOne},
    {"%cluster_ctaid.x", Special::kZero},
    {"%cluster_ctaid.y", Special::kZero},
    {"%cluster_ctaid.z", Special::kZero},
    {"%cluster_nctaid.x", Special::kOne},
    {"%cluster_nctaid.y", Special::kOne},
    {"%cluster_nctaid.z", Special::kOne},
    {"%clusterid.x", Special::kCtaidX},
    {"%clusterid.y", Special::kCtaidY},
    {"%clusterid.z", Special::kCtaidZ},
    {"%nclusterid.x", Special::kNctaidX},
    {"%nclusterid.y", Special::kNctaidY},
    {"%nclusterid.z", Special::kNctaidZ},
};

// Clocks tick once per nanosecond, as if the card ran at 1 GHz.
std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

std::uint32_t laneMask(Special which, unsigned lane) {
  const std::uint32_t equal = 1U << lane;
  switch (which) {
    case Special::kMaskEq:
      return equal;
    case Special::kMaskLt:
      return equal - 1;
    case Special::kMaskLe:
      return equal | (equal - 1);
    case Special::kMaskGe:
      return ~(equal - 1);
    default:
      return ~(equal | (equal - 1));
  }
}

// An element of the triple that begins with `first`.
std::uint64_t element(const std::array<unsigned, 3>& triple, Special which, Special first) {
  return triple[static_cast<std::size_t>(which) - static_cast<std::size_t>(first)];
}

std::uint64_t valueOf(Special which, const Thread& t) {
  const Launch& launch = t.grid->launch;
  if (which <= Special::kTidZ) return element(t.tid, which, Special::kTidX);
  if (which <= Special::kNtidZ) return element(launch.block, which, Special::kNtidX);
  if (which <= Special::kCtaidZ) return element(t.block->id, which, Special::kCtaidX);
  if (which <= Special::kNctaidZ) return element(launch.grid, which, Special::kNctaidX);
  if (which >= Special::kMaskEq && which <= Special::kMaskGt) return laneMask(which, t.lane());
  switch (which) {
    case Special::kLane:
      return t.lane();
    case Special::kWarp:
      return t.index / kWarpSize;
    case Special::kWarps:
      return (t.block->size + kWarpSize - 1) / kWarpSize;
    case Special::kTimer:
      return now();
    case Special::kClock:
    case Special::kTimerLow:
      return now() & 0xffffffff;
    case Special::kClockHigh:
    case Special::kTimerHigh:
      return now() >> 32;
    case Special::kDynamicShared:
      return launch.dynamic_shared;
    case Special::kTotalShared:
      return t.block->shared_bytes;
    case Special::kWorkspaceHigh:
      return kGridWindow >> 32;
    case Special::kWorkspaceLow:
      return kGridWindow & 0xffffffff;
    case Special::kOne:
      return 1;
    default:
      return 0;
  }
}

bool special(const Inst& i, Thread& t) {
  t.regs[i.dst] = valueOf(static_cast<Special>(i.offset), t);
  return true;
}

}  // namespace

bool readSpecial(Decode& d, std::string_view name, Operand dst) {
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    d.before(special, dst, 0, static_cast<std::int64_t>(row.special));
    return true;
  }
  if (!name.starts_with("%envreg") && !name.starts_with("%pm")) return false;
  d.before(special, dst, 0, static_cast<std::int64_t>(Special::kZero));
  return true;
}

}  // namespace divvy::ptx
