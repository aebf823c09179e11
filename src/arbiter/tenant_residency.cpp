#include "tenant_residency.h"

#include <algorithm>
#include <atomic>

#include "policy/apportion.h"

namespace divvy::arbiter {
namespace {

using ledger::ResidencyReason;
using ledger::SwapRefusal;

static_assert(
    static_cast<int>(ResidencyTargetReason::kFits) == static_cast<int>(ResidencyReason::kFits) &&
    static_cast<int>(ResidencyTargetReason::kOthersTurn) ==
        static_cast<int>(ResidencyReason::kOthersTurn) &&
    static_cast<int>(ResidencyTargetReason::kIdle) == static_cast<int>(ResidencyReason::kIdle) &&
    static_cast<int>(ResidencyTargetReason::kHigherClass) ==
        static_cast<int>(ResidencyReason::kHigherClass) &&
    static_cast<int>(ResidencyTargetReason::kUnused) ==
        static_cast<int>(ResidencyReason::kUnused) &&
    static_cast<int>(ResidencyTargetReason::kShort) == static_cast<int>(ResidencyReason::kShort));

// More than any device has, and small enough for sums over all processes.
constexpr std::uint64_t kMax = std::uint64_t{1} << 50;

std::uint64_t bounded(std::uint64_t bytes) {
  return std::min(bytes, kMax);
}

std::uint64_t grown(std::uint64_t before, std::uint64_t now) {
  return now > before ? bounded(now - before) : 0;
}

std::uint64_t less(std::uint64_t from, std::uint64_t what) {
  return from - std::min(from, what);
}

// It cannot give memory at present; not: it cannot be given memory.
bool refuses(std::uint32_t refusal) {
  switch (static_cast<SwapRefusal>(refusal)) {
    case SwapRefusal::kCapturing:
    case SwapRefusal::kNotDrained:
    case SwapRefusal::kNoHostMemory:
    case SwapRefusal::kDriver:
      return true;
    default:
      return false;
  }
}

}  // namespace

TenantResidency::TenantResidency(ledger::ResidencyPages pages, unsigned devices)
    : pages_(std::move(pages)), devices_(std::min(devices, ledger::kMaxDevices)) {}

void TenantResidency::addProcess(unsigned slot, std::uint64_t generation) {
  const auto [found, fresh] = processes_.try_emplace({slot, generation});
  // The order of an earlier agent or group.
  if (fresh) found->second.ordered = pages_.readOrder(slot, generation, &found->second.order);
}

void TenantResidency::removeProcess(unsigned slot, std::uint64_t generation) {
  processes_.erase({slot, generation});
}

void TenantResidency::noteWork(unsigned slot, std::uint64_t generation, bool wants,
                               std::uint64_t last_launch) {
  constexpr std::uint64_t kFarthest = INT64_MAX;
  last_launch_ = std::max(last_launch_, static_cast<Nanos>(std::min(last_launch, kFarthest)));
  const auto found = processes_.find({slot, generation});
  if (found != processes_.end()) found->second.wants = wants;
}

void TenantResidency::absorb(Process* process, const ledger::SwapSample& sample) {
  ledger::SwapSample reported = sample;
  for (ledger::SwapDevice& device : reported.device) {
    for (std::uint64_t* each : {&device.swappable, &device.mapped, &device.pinned, &device.want})
      *each = bounded(*each);
  }
  // Work from before it was known is not used: it may be of any age.
  if (process->claimed) {
    const ledger::SwapSample& before = process->reported;
    for (unsigned d = 0; d < devices_; ++d) {
      SwapWork work;
      work.out_bytes = grown(before.device[d].out_bytes, reported.device[d].out_bytes);
      work.out_ns = grown(before.device[d].out_ns, reported.device[d].out_ns);
      work.in_bytes = grown(before.device[d].in_bytes, reported.device[d].in_bytes);
      work.in_ns = grown(before.device[d].in_ns, reported.device[d].in_ns);
      work.drains = grown(before.drains, reported.drains);
      work.drain_ns = grown(before.drain_ns, reported.drain_ns);
      work_[d].add(work);
    }
  }
  process->claimed = true;
  process->reported = reported;
}

std::uint64_t TenantResidency::held(const Process& process, unsigned device) {
  std::uint64_t held = process.promised[device];
  if (process.ordered) held = std::max(held, process.order.allowed[device]);
  if (!process.claimed) return held;
  const ledger::SwapDevice& reported = process.reported.device[device];
  return std::max(held, reported.mapped + reported.pinned);
}

bool TenantResidency::ready(const Process& process, unsigned devices) {
  if (!process.claimed || (process.reported.state & ledger::kSwapReady) != 0) return true;
  if ((process.reported.state & ledger::kSwapClosed) != 0) return false;
  const auto& device = process.reported.device;
  return std::all_of(device.begin(), device.begin() + devices,
                     [](const ledger::SwapDevice& each) { return each.swappable == 0; });
}

// A process that cannot map host memory would stand still while the others run.
bool TenantResidency::mapsHost() const {
  bool any = false;
  for (const auto& [name, process] : processes_) {
    if (!process.claimed) continue;
    const bool maps = (process.reported.state & ledger::kSwapMapsHost) != 0;
    any = any || maps;
    for (unsigned d = 0; d < devices_ && !maps; ++d)
      if (process.reported.device[d].swappable != 0) return false;
  }
  return any;
}

ResidencyReport TenantResidency::observe(Nanos now) {
  // A process that takes memory reads its order again after it has published that. So it either
  // sees the orders written before this fence, or its memory is seen here.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (auto& [name, process] : processes_) {
    ledger::SwapSample sample;
    if (pages_.read(name.first, name.second, &sample)) absorb(&process, sample);
    process.promised.fill(0);
  }
  writeOrders();
  ResidencyReport stay;
  for (const auto& [name, process] : processes_) {
    const std::uint32_t state = process.claimed ? process.reported.state : 0;
    stay.wants = stay.wants || process.wants || (state & ledger::kSwapWanted) != 0;
  }
  stay.ready = true;
  stay.maps_host = mapsHost();
  for (const auto& [name, process] : processes_) {
    for (unsigned d = 0; d < devices_; ++d) {
      ResidentBytes& at = stay.at[d];
      at.held += held(process, d);
      if (!process.claimed) continue;
      const ledger::SwapDevice& reported = process.reported.device[d];
      at.swappable += reported.swappable;
      at.mapped += reported.mapped;
      at.pinned += reported.pinned;
      at.want += reported.want;
    }
    if (!process.claimed) continue;
    const bool counts = process.wants || (process.reported.state & ledger::kSwapWanted) != 0;
    if (counts || !stay.wants) stay.ready = stay.ready && ready(process, devices_);
    stay.capturing = stay.capturing || (process.reported.state & ledger::kSwapCapturing) != 0;
    const bool acted = process.reported.seen_seq >= process.seq;
    stay.refused = stay.refused || (acted && refuses(process.reported.refusal));
  }
  if (wanted_ != stay.wants || idle_since_ == 0) idle_since_ = now;
  wanted_ = stay.wants;
  ever_wanted_ = ever_wanted_ || stay.wants;
  const bool before_us = !ever_wanted_ && last_launch_ != 0;
  stay.idle_since = stay.wants ? 0 : before_us ? std::min(last_launch_, idle_since_) : idle_since_;
  return stay;
}

void TenantResidency::apply(const ResidencyTarget& order) {
  order_ = order;
  ordered_ = true;
  writeOrders();
}

SwapWork TenantResidency::takeSwapWork(unsigned device) {
  return std::exchange(work_[device], SwapWork{});
}

std::vector<std::uint64_t> TenantResidency::shares(unsigned device) const {
  std::vector<SplitPart> parts;
  std::uint64_t granted = order_.want[device];
  for (const auto& [name, process] : processes_) {
    SplitPart part;
    if (process.claimed) {
      const ledger::SwapDevice& reported = process.reported.device[device];
      const std::uint64_t want = std::min(granted, reported.want);
      granted -= want;
      part = {reported.pinned + want, reported.mapped, reported.swappable};
    }
    parts.push_back(part);
  }
  return splitAllowed(order_.allowed[device], parts);
}

std::vector<std::uint64_t> TenantResidency::hostShares() const {
  std::vector<SplitPart> parts;
  for (const auto& [name, process] : processes_) {
    SplitPart part;
    part.mapped = bounded(process.reported.host_bytes);
    for (unsigned d = 0; d < devices_; ++d) part.swappable += process.reported.device[d].swappable;
    parts.push_back(part);
  }
  return splitAllowed(order_.host_allowed, parts);
}

TenantResidency::ByDevice TenantResidency::heldBy(const Process& process, unsigned devices) {
  ByDevice bytes{};
  for (unsigned d = 0; d < devices; ++d) bytes[d] = held(process, d);
  return bytes;
}

TenantResidency::ByDevice TenantResidency::reportedBy(const Process& process, unsigned devices) {
  ByDevice bytes{};
  for (unsigned d = 0; d < devices && process.claimed; ++d) {
    const ledger::SwapDevice& reported = process.reported.device[d];
    bytes[d] = reported.pinned + reported.want + reported.swappable;
  }
  return bytes;
}

ledger::ResidencyOrder TenantResidency::orderFor(const Process& process,
                                                 const ByDevice& reported) const {
  ledger::ResidencyOrder order;
  order.allowed = process.order.allowed;
  const ByDevice own = reportedBy(process, devices_);
  for (unsigned d = 0; d < devices_; ++d)
    order.most[d] = less(order_.most[d], reported[d] - own[d]);
  order.flags = order_.yields ? ledger::kYield : 0;
  if (order_.host_map) order.flags |= ledger::kMayHostMap;
  if (order_.contended) order.flags |= ledger::kMayLeave;
  if (order_.reason == ResidencyTargetReason::kUnused) order.flags |= ledger::kReclaimed;
  order.reason = static_cast<ResidencyReason>(order_.reason);
  return order;
}

// A process that may have less gets its order before one that may have more. None may have memory
// that another has not given back. Sums are updated incrementally, because a tenant may fill all
// its slots and the arbiter's heartbeat waits for this.
void TenantResidency::writeOrders() {
  if (!ordered_ || processes_.empty()) return;
  std::array<std::vector<std::uint64_t>, ledger::kMaxDevices> wanted;
  for (unsigned d = 0; d < devices_; ++d) wanted[d] = shares(d);
  const std::vector<std::uint64_t> host = hostShares();
  ByDevice reported{}, all{};  // `all`: memory that processes hold
  for (const auto& [name, process] : processes_) {
    const ByDevice own = reportedBy(process, devices_), holds = heldBy(process, devices_);
    for (unsigned d = 0; d < devices_; ++d) reported[d] += own[d], all[d] += holds[d];
  }
  for (const bool raising : {false, true}) {
    std::size_t index = 0;
    for (auto& [name, process] : processes_) {
      ledger::ResidencyOrder order = orderFor(process, reported);
      order.host_allowed = host[index];
      const ByDevice before = heldBy(process, devices_);
      for (unsigned d = 0; d < devices_; ++d) {
        const std::uint64_t share = wanted[d][index];
        if (!raising) {
          order.allowed[d] = std::min(process.ordered ? order.allowed[d] : 0, share);
          continue;
        }
        const std::uint64_t room = less(order_.allowed[d], all[d]) + before[d];
        order.allowed[d] = std::max(order.allowed[d], std::min(share, room));
      }
      ++index;
      const bool lowers = order.allowed != process.order.allowed;
      if (!raising && (!process.ordered || !lowers)) continue;
      write(name, &process, order);
      const ByDevice now = heldBy(process, devices_);
      for (unsigned d = 0; d < devices_; ++d) all[d] += now[d] - before[d];
    }
  }
}

void TenantResidency::write(const Name& name, Process* process,
                            const ledger::ResidencyOrder& order) {
  if (process->ordered && order == process->order) return;
  for (unsigned d = 0; d < devices_; ++d) {
    const std::uint64_t before = process->ordered ? process->order.allowed[d] : 0;
    process->promised[d] = std::max(process->promised[d], before);
  }
  process->order = order;
  process->ordered = true;
  process->seq = pages_.order(name.first, name.second, order);
}

}  // namespace divvy::arbiter
