#include "reports/residency_reader.h"

#include <algorithm>

#include "ledger/pins.h"

namespace divvy::agent {
namespace {

// No device has as much, and the sum over all processes still fits.
constexpr std::uint64_t kMax = std::uint64_t{1} << 50;

Bytes bounded(std::uint64_t bytes) {
  return {std::min(bytes, kMax)};
}

std::uint64_t perSecond(std::uint64_t before, std::uint64_t now, double seconds) {
  if (now <= before || seconds <= 0) return 0;
  // A tenant's count in a moment may give a rate that no integer holds.
  const double rate = static_cast<double>(now - before) / seconds;
  return rate < static_cast<double>(kMax) ? static_cast<std::uint64_t>(rate) : kMax;
}

// A process without swappable memory has not queried its driver.
HostMapping hostMapping(const ledger::SwapSample& sample) {
  if ((sample.state & ledger::kSwapMapsHost) == 0) {
    const bool any = std::any_of(sample.device.begin(), sample.device.end(),
                                 [](const ledger::SwapDevice& at) { return at.swappable != 0; });
    return any ? HostMapping::kCannot : HostMapping::kUnknown;
  }
  return (sample.state & ledger::kSwapHostMapped) != 0 ? HostMapping::kInUse : HostMapping::kCan;
}

}  // namespace

Result<ResidencyReader> ResidencyReader::open(const std::filesystem::path& tenant_dir,
                                              unsigned devices) {
  Result<ledger::ResidencyPages> pages = ledger::ResidencyPages::open(tenant_dir);
  if (!pages) return pages.error();
  Result<ActivityReader> work = ActivityReader::open(tenant_dir);
  if (!work) return work.error();
  return ResidencyReader(std::move(*pages), std::move(*work),
                         std::min(devices, ledger::kMaxDevices));
}

ResidencySummary ResidencyReader::read(const Slots& slots) const {
  ResidencySummary sums;
  sums.devices.resize(rates_.size());
  const ActivitySummary work = work_.read(slots);
  sums.last_launch = work.last_launch;
  sums.at_work = work.at_work;
  for (const auto& [slot, generation] : slots) {
    ledger::SwapSample sample;
    if (!pages_.read(slot, generation, &sample)) continue;
    sums.pin_reasons |= sample.pin_reasons;
    sums.host = std::max(sums.host, hostMapping(sample));
    sums.at_work =
        sums.at_work || (sample.state & (ledger::kSwapWanted | ledger::kSwapPressed)) != 0;
    sums.pressed += (sample.state & ledger::kSwapPressed) != 0 ? 1 : 0;
    sums.pressure_waits = bounded(sums.pressure_waits + bounded(sample.pressure_waits).count).count;
    sums.pressure_refusals =
        bounded(sums.pressure_refusals + bounded(sample.pressure_refusals).count).count;
    if (sample.refusal != 0 &&
        sample.refusal <= static_cast<unsigned>(ledger::SwapRefusal::kDriver))
      sums.refusal = static_cast<ledger::SwapRefusal>(sample.refusal);
    for (std::size_t d = 0; d < sums.devices.size(); ++d) {
      SwapState& state = sums.devices[d];
      const ledger::SwapDevice& said = sample.device[d];
      state.swappable = state.swappable + bounded(said.swappable);
      state.mapped = state.mapped + std::min(bounded(said.mapped), bounded(said.swappable));
      state.pinned = state.pinned + bounded(said.pinned);
    }
  }
  return sums;
}

void ResidencyReader::sample(const Slots& slots, std::chrono::steady_clock::time_point now) {
  const std::chrono::duration<double> passed = now - std::exchange(sampled_, now);
  std::map<Key, SwapCounters> fresh;
  std::fill(rates_.begin(), rates_.end(), SwapRate{});
  for (const auto& slot : slots) {
    ledger::SwapSample sample;
    if (!pages_.read(slot.first, slot.second, &sample)) continue;
    for (unsigned d = 0; d < rates_.size(); ++d) {
      const SwapCounters moved{sample.device[d].out_bytes, sample.device[d].in_bytes};
      const auto before = before_.find({slot, d});
      if (before != before_.end()) {
        rates_[d].out += perSecond(before->second.out, moved.out, passed.count());
        rates_[d].in += perSecond(before->second.in, moved.in, passed.count());
      }
      fresh[{slot, d}] = moved;
    }
  }
  before_ = std::move(fresh);
}

std::string refusalWords(ledger::SwapRefusal refusal) {
  switch (refusal) {
    case ledger::SwapRefusal::kCapturing:
      return "it captures a graph";
    case ledger::SwapRefusal::kNotDrained:
      return "its work does not finish";
    case ledger::SwapRefusal::kNoHostMemory:
      return "the host has too little memory for it";
    case ledger::SwapRefusal::kNoDeviceMemory:
      return "the device has too little memory for it";
    case ledger::SwapRefusal::kDriver:
      return "the driver refused";
    case ledger::SwapRefusal::kNone:
      break;
  }
  return "";
}

std::vector<std::string> pinNames(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1) == 0) continue;
    const char* words = ledger::pinWords(static_cast<ledger::PinReason>(bit));
    names.push_back(words != nullptr ? words : "reason " + std::to_string(bit));
  }
  return names;
}

}  // namespace divvy::agent
