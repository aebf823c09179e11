#include "checkpoint/checkpoint_eligibility.h"

#include <algorithm>
#include <charconv>

#include "ledger/pins.h"

namespace divvy::agent {
namespace {

constexpr Bytes kMargin = gib(1);
constexpr std::uint64_t kMarginOfCard = 32;
constexpr std::uint64_t kMarginOfUse = 20;

Bytes residentOn(const std::vector<DeviceFootprint>& sites) {
  Bytes sum;
  for (const DeviceFootprint& site : sites) sum = sum + site.resident;
  return sum;
}

Ineligibility barOfPins(std::uint64_t pins, unsigned driver) {
  using ledger::PinReason;
  const auto pinned = [pins](PinReason reason) { return (pins & ledger::bitOf(reason)) != 0; };
  if (pinned(PinReason::kManaged)) return Ineligibility::kManaged;
  if (pinned(PinReason::kForeignUse)) return Ineligibility::kRegistered;
  if (pinned(PinReason::kCollectives)) return Ineligibility::kCollectives;
  if (pinned(PinReason::kMulticast)) return Ineligibility::kFabric;
  const bool shares = pinned(PinReason::kImported) || pinned(PinReason::kExported) ||
                      pinned(PinReason::kLegacyIpc) || pinned(PinReason::kPool);
  return shares && driver < kFirstSharedDriver ? Ineligibility::kShared : Ineligibility::kNone;
}

}  // namespace

std::string barWords(Ineligibility bar) {
  switch (bar) {
    case Ineligibility::kOff:
      return "checkpoints are off (--checkpoint)";
    case Ineligibility::kDriver:
      return "the driver is older than " + std::to_string(kFirstCheckpointDriver);
    case Ineligibility::kBackend:
      return "its compute is not enforced by Divvy";
    case Ineligibility::kGuaranteed:
      return "some of its memory is guaranteed";
    case Ineligibility::kNoProcess:
      return "no process of it uses the device";
    case Ineligibility::kForeignProcess:
      return "a process of it cannot be stopped by this agent";
    case Ineligibility::kManaged:
      return "it uses managed memory";
    case Ineligibility::kShared:
      return "it shares memory with other processes, and the driver is older than " +
             std::to_string(kFirstSharedDriver);
    case Ineligibility::kRegistered:
      return "its memory is registered with other devices";
    case Ineligibility::kCollectives:
      return "it takes part in collectives";
    case Ineligibility::kFabric:
      return "it uses multicast memory";
    case Ineligibility::kTooLarge:
      return "it could not be restored: the memory this needs exceeds the budget of tenants";
    case Ineligibility::kHostMemory:
      return "the host has too little memory for it";
    case Ineligibility::kBusy:
      return "its work did not finish in time";
    case Ineligibility::kRefused:
      return "the driver refused";
    case Ineligibility::kNone:
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

Bytes restoreNeeds(const DeviceFootprint& site) {
  const Bytes least = std::min(kMargin, Bytes{site.physical.count / kMarginOfCard});
  return site.used + site.context + std::max(least, Bytes{site.used.count / kMarginOfUse});
}

Ineligibility barOf(const CheckpointFacts& facts) {
  if (!facts.on) return Ineligibility::kOff;
  if (facts.driver < kFirstCheckpointDriver) return Ineligibility::kDriver;
  if (!facts.arbitrated) return Ineligibility::kBackend;
  for (const DeviceFootprint& site : facts.sites)
    if (site.guarantee.count != 0) return Ineligibility::kGuaranteed;
  if (facts.processes == 0) return Ineligibility::kNoProcess;
  if (facts.foreign) return Ineligibility::kForeignProcess;
  const Ineligibility pins = barOfPins(facts.pins, facts.driver);
  if (pins != Ineligibility::kNone) return pins;
  for (const DeviceFootprint& site : facts.sites)
    if (restoreNeeds(site) > site.room) return Ineligibility::kTooLarge;
  const std::uint64_t resident = residentOn(facts.sites).count;
  const bool held = resident + resident / 10 <= facts.host_available.count;
  return held ? Ineligibility::kNone : Ineligibility::kHostMemory;
}

}  // namespace divvy::agent
