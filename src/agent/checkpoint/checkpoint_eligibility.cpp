#include "checkpoint/checkpoint_eligibility.h"

#include <algorithm>
#include <charconv>

#include "ledger/pins.h"

namespace divvy::agent {
namespace {

constexpr Bytes kMargin = gib(1);
constexpr std::uint64_t kMarginOfCard = 32;
constexpr std::uint64_t kMarginOfUse = 20;

Bytes residentOn(const std::vector<CheckpointSite>& sites) {
  Bytes sum;
  for (const CheckpointSite& site : sites) sum = sum + site.resident;
  return sum;
}

CheckpointBar barOfPins(std::uint64_t pins, unsigned driver) {
  using ledger::PinReason;
  const auto pinned = [pins](PinReason reason) { return (pins & ledger::bitOf(reason)) != 0; };
  if (pinned(PinReason::kManaged)) return CheckpointBar::kManaged;
  if (pinned(PinReason::kForeignUse)) return CheckpointBar::kRegistered;
  if (pinned(PinReason::kCollectives)) return CheckpointBar::kCollectives;
  if (pinned(PinReason::kMulticast)) return CheckpointBar::kFabric;
  const bool shares = pinned(PinReason::kImported) || pinned(PinReason::kExported) ||
                      pinned(PinReason::kLegacyIpc) || pinned(PinReason::kPool);
  return shares && driver < kFirstSharedDriver ? CheckpointBar::kShared : CheckpointBar::kNone;
}

}  // namespace

std::string barWords(CheckpointBar bar) {
  switch (bar) {
    case CheckpointBar::kOff:
      return "checkpoints are off (--checkpoint)";
    case CheckpointBar::kDriver:
      return "the driver is older than " + std::to_string(kFirstCheckpointDriver);
    case CheckpointBar::kBackend:
      return "its compute is not enforced by Divvy";
    case CheckpointBar::kGuaranteed:
      return "some of its memory is guaranteed";
    case CheckpointBar::kNoProcess:
      return "no process of it uses the device";
    case CheckpointBar::kForeignProcess:
      return "a process of it is not ours to stop";
    case CheckpointBar::kManaged:
      return "it uses managed memory";
    case CheckpointBar::kShared:
      return "it shares memory with other processes, and the driver is older than " +
             std::to_string(kFirstSharedDriver);
    case CheckpointBar::kRegistered:
      return "its memory is registered with other devices";
    case CheckpointBar::kCollectives:
      return "it takes part in collectives";
    case CheckpointBar::kFabric:
      return "it uses multicast memory";
    case CheckpointBar::kTooLarge:
      return "it could not come back: what that takes is more than tenants may have";
    case CheckpointBar::kHostMemory:
      return "the host has no memory for it";
    case CheckpointBar::kBusy:
      return "its work did not end in time";
    case CheckpointBar::kRefused:
      return "the driver refused";
    case CheckpointBar::kNone:
      break;
  }
  return "";
}

unsigned driverBranch(std::string_view version) {
  unsigned branch = 0;
  const auto [end, fault] =
      std::from_chars(version.data(), version.data() + version.size(), branch);
  const bool whole =
      fault == std::errc{} && (end == version.data() + version.size() || *end == '.');
  return whole ? branch : 0;
}

Bytes restoreNeeds(const CheckpointSite& site) {
  const Bytes least = std::min(kMargin, Bytes{site.physical.count / kMarginOfCard});
  return site.used + site.context + std::max(least, Bytes{site.used.count / kMarginOfUse});
}

CheckpointBar barOf(const CheckpointFacts& facts) {
  if (!facts.on) return CheckpointBar::kOff;
  if (facts.driver < kFirstCheckpointDriver) return CheckpointBar::kDriver;
  if (!facts.arbitrated) return CheckpointBar::kBackend;
  for (const CheckpointSite& site : facts.sites)
    if (site.guarantee.count != 0) return CheckpointBar::kGuaranteed;
  if (facts.processes == 0) return CheckpointBar::kNoProcess;
  if (facts.foreign) return CheckpointBar::kForeignProcess;
  const CheckpointBar pins = barOfPins(facts.pins, facts.driver);
  if (pins != CheckpointBar::kNone) return pins;
  for (const CheckpointSite& site : facts.sites)
    if (restoreNeeds(site) > site.room) return CheckpointBar::kTooLarge;
  const std::uint64_t resident = residentOn(facts.sites).count;
  const bool held = resident + resident / 10 <= facts.host_available.count;
  return held ? CheckpointBar::kNone : CheckpointBar::kHostMemory;
}

}  // namespace divvy::agent
