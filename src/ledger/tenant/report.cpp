#include "ledger/report.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "files/mapping.h"
#include "files/sigbus_guard.h"
#include "ledger/layout_hash.h"
#include "ledger/tenant_ledger.h"

namespace divvy::ledger {
namespace {

// A private copy of the used part of a report: its head, and the slots that were ever claimed. The
// other slots are most of it, and there may be hundreds of tenants.
class ReportCopy {
 public:
  static Result<ReportCopy> copy(const Mapping& from, unsigned slots) {
    ReportCopy copy;
    const Result<std::size_t> got = from.copyStart(copy.head_.get(), kHeadBytes);
    if (!got) return got.error();
    copy.truncated_ = *got < kHeadBytes;
    copy.slots_ = slots;
    const ReportPage& page = *from.as<ReportPage>();
    unsigned used = 0;
    bool intact = guarded(&page, sizeof page, [&] { used = countUsed(page, slots); });
    copy.used_.resize(used);
    UsedSlot* const to = copy.used_.data();
    intact = intact && guarded(&page, sizeof page, [&] { used = copyUsed(page, slots, to, used); });
    // The rest of a truncated file is not used.
    copy.used_.resize(intact ? used : 0);
    copy.truncated_ = copy.truncated_ || !intact;
    return copy;
  }

  struct alignas(64) UsedSlot {
    Slot slot;
    unsigned index;
  };

  const ReportHeader& header() const { return head_->header; }
  const DeviceReport& device(unsigned i) const { return head_->devices[i]; }
  const std::vector<UsedSlot>& used() const { return used_; }
  unsigned slots() const { return slots_; }
  bool truncated() const { return truncated_; }

 private:
  struct Head {
    ReportHeader header;
    DeviceReport devices[kMaxDevices];
  };
  static constexpr std::size_t kHeadBytes = offsetof(ReportPage, slots);
  static_assert(sizeof(Head) == kHeadBytes);

  // A slot that was never claimed has no counts for its owners either.
  static bool isUsed(const Slot& slot) {
    return loadRelaxed(slot.state.low) != packState(0, Phase::kFree);
  }
  static unsigned countUsed(const ReportPage& page, unsigned slots) {
    unsigned used = 0;
    for (unsigned i = 0; i < slots; ++i) used += isUsed(page.slots[i]) ? 1 : 0;
    return used;
  }
  // Copies at most `room` slots, because more may have been claimed meanwhile. Returns the number.
  static unsigned copyUsed(const ReportPage& page, unsigned slots, UsedSlot* to, unsigned room) {
    unsigned used = 0;
    for (unsigned i = 0; i < slots && used < room; ++i) {
      if (!isUsed(page.slots[i])) continue;
      std::memcpy(&to[used].slot, &page.slots[i], sizeof(Slot));
      to[used++].index = i;
    }
    return used;
  }

  std::unique_ptr<Head> head_ = std::make_unique<Head>();
  std::vector<UsedSlot> used_;
  unsigned slots_ = 0;
  bool truncated_ = false;
};

class Reader {
 public:
  Reader(const ReportCopy& copy, const TenantSpec& spec) : copy_(copy), spec_(spec) {}

  ReportSnapshot read() {
    if (copy_.truncated()) suspect(Inconsistency::kTruncated);
    readHeader();
    out_.devices.resize(spec_.devices.size());
    for (unsigned dev = 0; dev < out_.devices.size(); ++dev) readDevice(dev);
    out_.free_slots = copy_.slots() - static_cast<unsigned>(copy_.used().size());
    for (const ReportCopy::UsedSlot& one : copy_.used()) readSlot(one.slot, one.index);
    for (unsigned dev = 0; dev < out_.devices.size(); ++dev) {
      DeviceUse& use = out_.devices[dev];
      use.total = use.admitted - use.spare;
      sums_differ_ = sums_differ_ || use.admitted != used_[dev] + use.spare;
    }
    readFaults();
    return std::move(out_);
  }

  // No operation was under way, but a total differs from the sum of the slots.
  bool sumsDiffer() const { return quiet_ && sums_differ_; }

 private:
  void suspect(Inconsistency reason) { out_.suspicions |= static_cast<std::uint32_t>(reason); }

  // The larger of the device's memory and the share, including the context if that is counted
  // outside of it. Memory beyond that is at the host. A device of unknown size limits only the
  // sign.
  Bytes clamp(std::uint64_t bytes, unsigned dev, Inconsistency reason) {
    const DeviceSpec& spec = spec_.devices[dev];
    const std::uint64_t physical = spec.physical.count;
    const bool beside = spec_.context_overhead_outside && spec_.charges_contexts;
    const std::uint64_t share =
        saturatingAdd(spec.ceiling.count, beside ? spec.context.count : std::uint64_t{0});
    const std::uint64_t most = physical != 0 ? std::max(physical, share) : INT64_MAX;
    if (bytes <= most) return {bytes};
    suspect(reason);
    return {most};
  }

  void readHeader() {
    const Identification& id = copy_.header().id;
    const bool same = id.magic == kReportMagic && id.major == kMajor && id.minor <= kMinor &&
                      id.size == sizeof(ReportPage) && id.layout_hash == kLayoutHash &&
                      id.generation == spec_.generation &&
                      std::strncmp(copy_.header().tenant_id, spec_.id.c_str(),
                                   sizeof copy_.header().tenant_id) == 0;
    if (!same) suspect(Inconsistency::kHeader);
    std::ranges::copy(copy_.header().fault_counts, out_.fault_counts.begin());
    std::ranges::copy(copy_.header().counters, out_.counters.begin());
  }

  void readDevice(unsigned dev) {
    const DeviceReport& from = copy_.device(dev);
    DeviceUse& to = out_.devices[dev];
    to.admitted = clamp(from.total.low, dev, Inconsistency::kTotal);
    to.resident = clamp(from.resident_bytes, dev, Inconsistency::kTotal);
    // Swapped-out memory is host memory, which the device's size does not limit.
    to.swapped = {std::min<std::uint64_t>(from.swapped_bytes, INT64_MAX)};
    const Tag tag = unpackTag(from.total.high);
    if (tag.slot > kMaxSlots || (tag.slot != kMaxSlots && tag.slot >= spec_.slots)) {
      suspect(Inconsistency::kTag);
    }
  }

  void readSlot(const Slot& from, unsigned index) {
    for (const Lane& lane : from.lanes) {
      out_.grants = saturatingAdd(out_.grants, lane.grants);
      out_.releases = saturatingAdd(out_.releases, lane.releases);
      out_.refusals = saturatingAdd(out_.refusals, lane.refusals);
    }
    out_.over_limit_bytes = std::max(out_.over_limit_bytes, from.over_limit_bytes);
    out_.device_full_bytes = std::max(out_.device_full_bytes, from.device_full_bytes);
    addCounter(from, SlotCounter::kDeviceFull, &out_.device_full);
    addCounter(from, SlotCounter::kPressureWaits, &out_.pressure_waits);
    const Phase phase = statePhase(from.state.low);
    if (phase == Phase::kFree) {
      ++out_.free_slots;
      return;
    }
    if (phase > Phase::kRetired) suspect(Inconsistency::kPhase);
    SlotSnapshot to;
    to.slot = index;
    to.generation = stateGeneration(from.state.low);
    // An unknown phase is treated as kReaping, which allows least and lets the slot be cleaned up.
    to.phase = phase > Phase::kRetired ? Phase::kReaping : phase;
    to.owner = unpackOwner(from.state.high);
    if (from.adopted_generation == to.generation + 1) to.host_pid = from.host_pid;
    to.context = {std::min<std::uint64_t>(from.context_bytes, INT64_MAX)};
    to.last_launch_ns = from.last_launch_ns;
    readLanes(from, to);
    out_.slots.push_back(to);
  }

  static void addCounter(const Slot& from, SlotCounter counter, std::uint64_t* sum) {
    *sum = saturatingAdd(*sum, from.counters[static_cast<unsigned>(counter)]);
  }

  void readLanes(const Slot& from, SlotSnapshot& to) {
    for (const Lane& lane : from.lanes) {
      const bool pending = lane.seq != lane.done;
      if (pending && lane.seq != lane.done + 1) suspect(Inconsistency::kSequence);
      if (lane.seq > kMaxSeq) suspect(Inconsistency::kSequence);
      to.operation_pending = to.operation_pending || pending;
    }
    quiet_ = quiet_ && !to.operation_pending;
    for (unsigned dev = 0; dev < out_.devices.size(); ++dev) {
      std::uint64_t used = 0;
      std::uint64_t spare = 0;
      for (const Lane& lane : from.lanes) {
        used = saturatingAdd(used, lane.used[dev]);
        spare = saturatingAdd(spare, lane.spare[dev].low);
      }
      to.used[dev] = clamp(used, dev, Inconsistency::kUsed);
      to.spare[dev] = clamp(spare, dev, Inconsistency::kUsed);
      DeviceUse& all = out_.devices[dev];
      all.spare = clamp((all.spare + to.spare[dev]).count, dev, Inconsistency::kUsed);
      used_[dev] = clamp((used_[dev] + to.used[dev]).count, dev, Inconsistency::kUsed);
    }
  }

  void readFaults() {
    for (const FaultEntry& entry : copy_.header().faults) {
      if (entry.seq == 0) continue;
      if (entry.code >= kFaultKinds) {
        suspect(Inconsistency::kFaultRing);
        continue;
      }
      out_.faults.push_back({entry.seq, entry.code, entry.site, entry.detail, entry.arg});
    }
    std::ranges::sort(out_.faults, {}, &FaultRecord::number);
  }

  const ReportCopy& copy_;
  const TenantSpec& spec_;
  ReportSnapshot out_;
  std::array<Bytes, kMaxDevices> used_{};
  bool quiet_ = true;
  bool sums_differ_ = false;
};

bool sameTags(const ReportCopy& a, const ReportCopy& b, std::size_t devices) {
  for (unsigned dev = 0; dev < devices; ++dev) {
    if (a.device(dev).total.high != b.device(dev).total.high) return false;
  }
  return true;
}

}  // namespace

std::string suspicionNames(std::uint32_t bits) {
  constexpr const char* kNames[] = {"truncated", "header", "phase",        "total",     "used",
                                    "sequence",  "tag",    "sum mismatch", "fault ring"};
  std::string names;
  for (unsigned i = 0; i < std::size(kNames); ++i) {
    if ((bits & (1u << i)) == 0) continue;
    names += (names.empty() ? "" : ", ");
    names += kNames[i];
  }
  return names;
}

Result<ReportSnapshot> TenantLedger::readReport() const {
  const Result<ReportCopy> copy = ReportCopy::copy(*report_, spec_.slots);
  if (!copy) return copy.error();
  Reader reader(*copy, spec_);
  ReportSnapshot snapshot = reader.read();
  // A copy of a page in use does not prove a wrong sum. It does if no operation was under way and
  // the totals' tags, which never repeat, are unchanged. Lanes that move spare bytes at the wrong
  // instant can still mislead it. So one mismatch is a hint, and a lasting one is proof.
  const Result<ReportCopy> after = ReportCopy::copy(*report_, 0);
  if (!after) return after.error();
  if (reader.sumsDiffer() && sameTags(*copy, *after, snapshot.devices.size())) {
    snapshot.suspicions |= static_cast<std::uint32_t>(Inconsistency::kSumMismatch);
  }
  return snapshot;
}

}  // namespace divvy::ledger
