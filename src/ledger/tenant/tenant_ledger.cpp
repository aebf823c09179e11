#include "ledger/tenant_ledger.h"

#include <fcntl.h>

#include <system_error>

#include "account/lane.h"
#include "account/reaper.h"
#include "files/mapping.h"
#include "files/sigbus_guard.h"
#include "ledger/identification.h"
#include "ledger/work.h"
#include "tenant/spec.h"

namespace divvy::ledger {
namespace {

namespace fs = std::filesystem;

Error truncated() {
  return {ErrorCode::kCorrupt, "the tenant truncated its report file"};
}

Error adoptError(OpenStatus status, const fs::path& dir) {
  ErrorCode code = ErrorCode::kCorrupt;
  if (status == OpenStatus::kNewer || status == OpenStatus::kOlder ||
      status == OpenStatus::kOtherLayout) {
    code = ErrorCode::kUnsupported;
  }
  if (status == OpenStatus::kStaleBoot) code = ErrorCode::kUnavailable;
  return {code, "adopting tenant pages in " + dir.string() + ": " + openStatusName(status)};
}

OpenStatus judgeControl(const ControlPage& page, std::size_t size) {
  OpenStatus status = checkIdentification(page.header.id, kControlMagic, sizeof(ControlPage), size);
  if (status == OpenStatus::kOk) status = checkBoot(page.header.id);
  if (status == OpenStatus::kOk) status = checkControl(page);
  return status;
}

}  // namespace

TenantLedger::TenantLedger() = default;
TenantLedger::TenantLedger(TenantLedger&&) noexcept = default;
TenantLedger& TenantLedger::operator=(TenantLedger&&) noexcept = default;
TenantLedger::~TenantLedger() = default;

Result<TenantLedger> TenantLedger::adopt(const fs::path& dir) {
  Result<Mapping> control = Mapping::open(dir / "control", sizeof(ControlPage));
  if (!control) return std::move(control.error()).context("adopting tenant pages");
  const auto page = std::make_unique<ControlPage>();
  const Result<std::size_t> got = control->copyStart(page.get(), sizeof *page);
  if (!got) return got.error();
  const OpenStatus status = judgeControl(*page, *got);
  if (status != OpenStatus::kOk) return adoptError(status, dir);
  // Only the size of the report matters here. The control page describes the report; readReport()
  // reports a head that the tenant overwrote.
  Result<Mapping> report = Mapping::open(dir / "report", sizeof(ReportPage));
  if (!report) {
    if (report.error().code() != ErrorCode::kNotFound) {
      return std::move(report.error()).context("adopting tenant pages");
    }
    return Error(ErrorCode::kCorrupt, "adopting tenant pages: " + dir.string() + " has no report");
  }
  TenantLedger ledger;
  ledger.dir_ = dir;
  ledger.spec_ = specOf(*page);
  ledger.fence_seq_ = page->header.fence_seq;
  ledger.control_ = std::make_unique<Mapping>(std::move(control).value());
  ledger.report_ = std::make_unique<Mapping>(std::move(report).value());
  // Without it (an older version, or damaged by the tenant) memory limits still hold.
  if (Result<Mapping> work = Mapping::open(dir / "work", sizeof(WorkPage)); work) {
    ledger.work_ = std::make_unique<Mapping>(std::move(work).value());
  }
  ledger.openSwap();
  // The last agent may have ended between lowering a ceiling and fencing it.
  for (unsigned dev = 0; dev < ledger.spec_.devices.size(); ++dev) {
    if (Result<void> fenced = ledger.fence(dev); !fenced) return fenced.error();
  }
  return ledger;
}

ControlPage& TenantLedger::control() {
  return *control_->as<ControlPage>();
}

Result<void> TenantLedger::fence(unsigned dev) {
  ControlHeader& header = control().header;
  ReportPage& page = *report_->as<ReportPage>();
  const std::uint64_t seq = ++fence_seq_;
  const bool intact = guarded(&header, sizeof(ControlPage), [&] {
    // Stored first, so that no tag is used twice after a restart.
    storeRelease(header.fence_seq, seq);
  });
  if (!intact) return Error(ErrorCode::kCorrupt, "the control file was truncated");
  if (!guarded(&page, sizeof page, [&] { fenceDevice(page, header, dev, seq); })) {
    return truncated();
  }
  return {};
}

Result<DeviceControl*> TenantLedger::device(unsigned dev) {
  if (dev >= spec_.devices.size()) {
    return Error(ErrorCode::kUsage, "tenant " + spec_.id + " has no device " + std::to_string(dev) +
                                        "; it has " + std::to_string(spec_.devices.size()));
  }
  return &control().devices[dev];
}

Result<void> TenantLedger::setMemory(unsigned dev, Bytes guarantee, Bytes ceiling) {
  const Result<DeviceControl*> limits = device(dev);
  if (!limits) return limits.error();
  if (ceiling.count == 0 || ceiling.count > INT64_MAX || guarantee > ceiling) {
    return Error(ErrorCode::kUsage,
                 "memory limits: 0 < ceiling and guarantee <= ceiling, below "
                 "2^63 bytes, are accepted");
  }
  const bool intact = guarded(&control(), sizeof(ControlPage), [&] {
    storeRelease((*limits)->mem_guarantee, guarantee.count);
    storeRelease((*limits)->mem_ceiling, ceiling.count);
  });
  if (!intact) return Error(ErrorCode::kCorrupt, "the control file was truncated");
  const bool lowered = ceiling < spec_.devices[dev].ceiling;
  spec_.devices[dev].guarantee = guarantee;
  spec_.devices[dev].ceiling = ceiling;
  return lowered ? fence(dev) : Result<void>();
}

Result<void> TenantLedger::setHeadroom(unsigned dev, Bytes headroom) {
  const Result<DeviceControl*> limits = device(dev);
  if (!limits) return limits.error();
  const bool intact = guarded(&control(), sizeof(ControlPage),
                              [&] { storeRelease((*limits)->headroom_bytes, headroom.count); });
  if (!intact) return Error(ErrorCode::kCorrupt, "the control file was truncated");
  const bool lowered = headroom > spec_.devices[dev].headroom;
  spec_.devices[dev].headroom = headroom;
  return lowered ? fence(dev) : Result<void>();
}

Result<void> TenantLedger::setCores(unsigned dev, unsigned guarantee, unsigned ceiling) {
  const Result<DeviceControl*> limits = device(dev);
  if (!limits) return limits.error();
  if (guarantee > ceiling || ceiling > 100) {
    return Error(ErrorCode::kUsage, "cores: 0 <= guarantee <= ceiling <= 100 is accepted");
  }
  const bool intact = guarded(&control(), sizeof(ControlPage), [&] {
    storeRelease((*limits)->cores_guarantee, std::uint32_t{guarantee});
    storeRelease((*limits)->cores_ceiling, std::uint32_t{ceiling});
  });
  if (!intact) return Error(ErrorCode::kCorrupt, "the control file was truncated");
  spec_.devices[dev].cores_guarantee = guarantee;
  spec_.devices[dev].cores_ceiling = ceiling;
  return {};
}

Result<void> TenantLedger::nextAgentEpoch() {
  const bool intact = guarded(&control(), sizeof(ControlPage), [&] {
    std::uint64_t& epoch = control().header.agent_epoch;
    storeRelease(epoch, loadRelaxed(epoch) + 1);
  });
  if (!intact) return Error(ErrorCode::kCorrupt, "the control file was truncated");
  return {};
}

}  // namespace divvy::ledger
