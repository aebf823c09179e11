#include "account/lane_cache.h"

namespace divvy::ledger {
namespace {

constexpr unsigned kRoomShare = 8;
constexpr unsigned kLaneShare = 16;

// Calls visit(slot index) for each slot with its bit set.
template <typename Visit>
void forEachMarked(const TenantPages& pages, Visit visit) {
  const unsigned ready = pages.slotsReady();
  for (unsigned first = 0; first < ready; first += 64) {
    std::uint64_t bits = loadAcquire(pages.report().header.spare_map[first / 64]);
    for (; bits != 0; bits &= bits - 1) {
      const unsigned slot = first + static_cast<unsigned>(__builtin_ctzll(bits));
      if (slot < ready) visit(slot);
    }
  }
}

// Takes one word's bytes into use and refunds exactly those bytes.
bool moveToTotal(const LaneSite& site, unsigned dev, std::uint32_t word) {
  const std::uint64_t before = loadRelaxed(site.laneRef().used[dev]);
  // Leaves one number for the refund of what was taken.
  if (drainOnLane(site, dev, word, kLastReleaseSeq - 1) != LaneStep::kDone) return false;
  const std::uint64_t taken = loadRelaxed(site.laneRef().used[dev]) - before;
  std::uint64_t missing = 0;
  refundOnLane(site, dev, taken, kLastReleaseSeq, &missing);
  return true;
}

}  // namespace

bool worthKeeping(const LaneSite& site, unsigned dev, std::uint64_t bytes, const Limits& limits) {
  const std::uint64_t limit = limits.admissible();
  if (bytes > limit / kLaneShare) return false;
  const std::uint64_t spare = loadRelaxed(site.laneRef().spare[dev].low);
  if (spare > limit / kLaneShare - bytes) return false;
  return loadRelaxed(site.report->devices[dev].total.low) <= limit - limit / kRoomShare;
}

void markSpare(const LaneSite& site) {
  std::uint64_t& bits = site.report->header.spare_map[site.slot / 64];
  const std::uint64_t bit = 1ull << (site.slot % 64);
  if ((loadRelaxed(bits) & bit) == 0) __atomic_fetch_or(&bits, bit, __ATOMIC_RELEASE);
}

std::uint64_t sumSpare(const TenantPages& pages, unsigned dev) {
  std::uint64_t sum = 0;
  forEachMarked(pages, [&](unsigned slot) {
    for (const Lane& lane : pages.report().slots[slot].lanes) {
      sum = saturatingAdd(sum, loadAcquire(lane.spare[dev].low));
    }
  });
  return sum;
}

Reclaimed reclaimSpare(const LaneSite& site, const TenantPages& pages, unsigned dev) {
  bool some = false;
  std::uint64_t& own_flag = site.laneRef().moving;
  forEachMarked(pages, [&](unsigned slot) {
    Slot& victim = pages.report().slots[slot];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (loadAcquire(victim.lanes[lane].spare[dev].low) == 0) continue;
      markSpare(site);  // other processes search only marked slots
      storeRelease(own_flag, std::uint64_t{1});
      some = moveToTotal(site, dev, spareWord(slot, lane)) || some;
    }
  });
  storeRelease(own_flag, std::uint64_t{0});
  if (some) return Reclaimed::kSome;
  bool moving = false;
  forEachMarked(pages, [&](unsigned slot) {
    for (const Lane& lane : pages.report().slots[slot].lanes) {
      moving = moving || loadAcquire(lane.moving) != 0;
    }
  });
  return moving ? Reclaimed::kMoving : Reclaimed::kNone;
}

}  // namespace divvy::ledger
