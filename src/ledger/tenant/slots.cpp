// The slots of a report for the agent: adopt, reap, preallocate.
#include <fcntl.h>

#include <system_error>

#include "account/reaper.h"
#include "files/mapping.h"
#include "files/sigbus_guard.h"
#include "ledger/swap.h"
#include "ledger/tenant_ledger.h"
#include "ledger/work.h"

namespace divvy::ledger {
namespace {

Error truncated() {
  return {ErrorCode::kCorrupt, "the tenant truncated its report file"};
}

unsigned countFree(const ReportPage& page, unsigned ready) {
  unsigned free = 0;
  for (unsigned i = 0; i < ready; ++i) {
    if (statePhase(loadRelaxed(page.slots[i].state.low)) == Phase::kFree) ++free;
  }
  return free;
}

}  // namespace

Result<bool> TenantLedger::claimedBy(unsigned slot, std::uint64_t generation,
                                     std::uint32_t pid) const {
  if (slot >= spec_.slots) return false;
  const Slot& target = report_->as<ReportPage>()->slots[slot];
  Pair state{};
  if (!guarded(&target, sizeof target, [&] { state = loadHalves(target.state); })) {
    return truncated();
  }
  return statePhase(state.low) != Phase::kFree && stateGeneration(state.low) == generation &&
         unpackOwner(state.high).pid == pid;
}

Result<void> TenantLedger::adoptSlot(unsigned slot, std::uint64_t generation,
                                     std::uint32_t host_pid) {
  if (slot >= spec_.slots) {
    return Error(ErrorCode::kNotFound, "no slot " + std::to_string(slot));
  }
  Slot& target = report_->as<ReportPage>()->slots[slot];
  bool live = false;
  const bool intact = guarded(&target, sizeof target, [&] {
    live = loadAcquire(target.state.low) == packState(generation, Phase::kLive);
    if (!live) return;
    storeRelaxed(target.host_pid, host_pid);
    storeRelease(target.adopted_generation, generation + 1);
  });
  if (!intact) return truncated();
  if (!live) {
    return Error(ErrorCode::kNotFound, "slot " + std::to_string(slot) +
                                           " is not live in generation " +
                                           std::to_string(generation));
  }
  return {};
}

Result<ReapResult> TenantLedger::reap(unsigned slot, std::uint64_t generation) {
  ReapResult result;
  if (slot >= spec_.slots) return result;
  ReportPage& page = *report_->as<ReportPage>();
  const auto devices = static_cast<unsigned>(spec_.devices.size());
  ReapedSlot reaped;
  // Two guards, because one range cannot cover both mappings.
  bool report_intact = false;
  const bool control_intact = guarded(&control(), sizeof(ControlPage), [&] {
    report_intact = guarded(&page, sizeof page, [&] {
      reaped = reapSlot(page, control().header, slot, generation, devices, true);
    });
  });
  if (!control_intact || !report_intact) return truncated();
  switch (reaped.outcome) {
    case ReapStep::kContended:
      return Error(ErrorCode::kUnavailable,
                   "tenant " + spec_.id + " keeps changing its total; try again");
    case ReapStep::kFreed:
      result.outcome = ReapOutcome::kFreed;
      break;
    case ReapStep::kRetired:
      result.outcome = ReapOutcome::kRetired;
      break;
    case ReapStep::kNotOurs:
      break;
  }
  for (unsigned dev = 0; dev < kMaxDevices; ++dev) result.refunded[dev] = {reaped.refunded[dev]};
  return result;
}

Result<void> TenantLedger::backSlots(unsigned ready) {
  struct FileRange {
    const Mapping* file;
    std::size_t offset;
    std::size_t size;
  };
  const FileRange parts[] = {
      {report_.get(), offsetof(ReportPage, slots) + ready * sizeof(Slot),
       kSlotChunk * sizeof(Slot)},
      {work_.get(), workBytes(ready), kSlotChunk * sizeof(WorkLine)},
      {residency_.get(), residencyBytes(ready), kSlotChunk * sizeof(ResidencyLine)},
      {swap_.get(), swapBytes(ready), kSlotChunk * sizeof(SwapLine)}};
  for (const FileRange& part : parts) {
    if (part.file == nullptr) continue;
    const int code = posix_fallocate(part.file->fd(), static_cast<off_t>(part.offset),
                                     static_cast<off_t>(part.size));
    if (code == 0) continue;
    return Error(ErrorCode::kIo, "preallocating slots of tenant " + spec_.id + ": " +
                                     std::generic_category().message(code));
  }
  return {};
}

Result<unsigned> TenantLedger::ensureFreeSlots(unsigned wanted) {
  ReportPage& page = *report_->as<ReportPage>();
  for (;;) {
    unsigned free = 0;
    const unsigned ready = spec_.slots;
    if (!guarded(&page, sizeof page, [&] { free = countFree(page, ready); })) return truncated();
    if (free >= wanted || ready + kSlotChunk > kMaxSlots) return free;
    if (Result<void> backed = backSlots(ready); !backed) return backed.error();
    spec_.slots = ready + kSlotChunk;
    const bool intact = guarded(&control(), sizeof(ControlPage), [&] {
      storeRelease(control().header.slots_ready, std::uint32_t{spec_.slots});
    });
    if (!intact) return Error(ErrorCode::kCorrupt, "the control file was truncated");
  }
}

}  // namespace divvy::ledger
