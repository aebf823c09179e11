#include "device/ecc_error_tracker.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace divvy::agent {
namespace {

constexpr std::uint64_t kDoubleBit = 48, kReplacementPending = 63, kReplacementFailed = 64;

// The same values with no errors counted.
driver::MemoryErrors noneOf(const driver::MemoryErrors& told) {
  driver::MemoryErrors none;
  if (told.uncorrected) none.uncorrected = 0;
  if (told.pending) none.pending = false;
  if (told.failed) none.failed = false;
  return none;
}

}  // namespace

bool isOfMemory(std::uint64_t xid) {
  // Source: NVIDIA's list of Xids, those of uncorrected errors and of the driver's reaction to
  // them.
  constexpr std::array<std::uint64_t, 6> kOfMemory{48, 63, 64, 94, 95, 140};
  return std::find(kOfMemory.begin(), kOfMemory.end(), xid) != kOfMemory.end();
}

std::uint64_t EccErrorDelta::xid() const {
  if (failed) return kReplacementFailed;
  return uncorrected != 0 ? kDoubleBit : kReplacementPending;
}

std::string EccErrorDelta::words() const {
  std::string all;
  const auto add = [&](const std::string& one) { all += (all.empty() ? "" : ", ") + one; };
  if (uncorrected != 0)
    add(std::to_string(uncorrected) + " uncorrected memory error" + (uncorrected == 1 ? "" : "s"));
  if (failed) add("memory that could not be remapped");
  if (pending) add("memory that is remapped at the next reset of the device");
  return all;
}

EccErrorDelta grownSince(const driver::MemoryErrors& known, const driver::MemoryErrors& now) {
  EccErrorDelta growth;
  if (known.uncorrected && now.uncorrected)
    growth.uncorrected = *now.uncorrected < *known.uncorrected
                             ? *now.uncorrected
                             : *now.uncorrected - *known.uncorrected;
  growth.pending = known.pending && now.pending && *now.pending && !*known.pending;
  growth.failed = known.failed && now.failed && *now.failed && !*known.failed;
  return growth;
}

driver::MemoryErrors laterOf(const driver::MemoryErrors& known, const driver::MemoryErrors& now) {
  driver::MemoryErrors later = now;
  if (!later.uncorrected) later.uncorrected = known.uncorrected;
  if (!later.pending) later.pending = known.pending;
  if (!later.failed) later.failed = known.failed;
  return later;
}

driver::MemoryErrors reloaded(const driver::MemoryErrors& known) {
  driver::MemoryErrors now = known;
  if (now.uncorrected) now.uncorrected = 0;
  return now;
}

EccErrorTracker::Seen EccErrorTracker::observe(const DriverHealth& said) {
  std::set<unsigned> heard;
  for (const driver::DeviceFault& fault : said.faults)
    if (isOfMemory(fault.xid)) heard.insert(fault.index);
  Seen seen;
  for (const auto& [index, now] : said.errors)
    observeCard(index, now, heard.contains(index), &seen);
  return seen;
}

void EccErrorTracker::observeCard(unsigned index, const driver::MemoryErrors& now, bool heard,
                                  Seen* seen) {
  Card& card = cards_[index];
  const bool told = std::exchange(card.told, heard) || heard;
  if (now == driver::MemoryErrors()) return;
  const bool first = !std::exchange(card.looked, true);
  if (!card.known) {
    card.known = now;
    const EccErrorDelta old = grownSince(noneOf(now), now);
    if (old.any() && !told) seen->old[index] = old;
    return;
  }
  const EccErrorDelta growth = grownSince(*card.known, now);
  const bool unheard = growth.any() && !told;
  const bool waited = std::exchange(card.suspected, unheard && !first);
  if (growth.any()) card.told = false;
  if (unheard && !first && !waited) return;
  card.known = laterOf(*card.known, now);
  card.suspected = false;
  if (unheard) seen->faults.push_back({index, growth, first});
}

std::map<unsigned, driver::MemoryErrors> EccErrorTracker::known() const {
  std::map<unsigned, driver::MemoryErrors> all;
  for (const auto& [index, card] : cards_)
    if (card.known) all[index] = *card.known;
  return all;
}

}  // namespace divvy::agent
