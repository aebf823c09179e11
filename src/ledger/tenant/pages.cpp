#include "ledger/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "files/mapped_file.h"
#include "ledger/identification.h"
#include "process/syscalls.h"

namespace divvy::ledger {
namespace {

constexpr char kFixedDir[] = "/run/divvy/tenant";

// Returns null if there is no valid one.
WorkPage* mapWork(const char* dir, const ControlHeader& control) {
  if ((control.id.features & kFeatureGrant) == 0) return nullptr;
  const MappedFile file = mapFile(dir, "work", true, kWorkMagic, sizeof(WorkPage));
  auto* const page = static_cast<WorkPage*>(file.memory);
  if (page == nullptr || sameTenant(control, page->header)) return page;
  munmap(page, sizeof(WorkPage));
  return nullptr;
}

}  // namespace

OpenStatus TenantPages::open(const char* dir, TenantPages* out) {
  const ErrnoKeeper keeper;
  const MappedFile control = mapFile(dir, "control", false, kControlMagic, sizeof(ControlPage));
  if (control.status != OpenStatus::kOk) return control.status;
  TenantPages pages;
  pages.control_ = static_cast<const ControlPage*>(control.memory);
  // The report's boot is compared with that of the control page below.
  OpenStatus status = checkBoot(pages.control_->header.id);
  if (status == OpenStatus::kOk) status = checkControl(*pages.control_);
  if (status == OpenStatus::kOk) {
    const MappedFile report = mapFile(dir, "report", true, kReportMagic, sizeof(ReportPage));
    status = report.status == OpenStatus::kAbsent ? OpenStatus::kMismatched : report.status;
    pages.report_ = static_cast<ReportPage*>(report.memory);
    if (status == OpenStatus::kOk && !sameTenant(pages.control_->header, pages.report_->header)) {
      status = OpenStatus::kMismatched;
    }
  }
  if (status != OpenStatus::kOk) {
    pages.close();
    return status;
  }
  pages.work_ = mapWork(dir, pages.control_->header);
  pages.device_count_ = pages.control_->header.device_count;
  pages.slots_capacity_ = pages.control_->header.slots_capacity;
  *out = pages;
  return OpenStatus::kOk;
}

void TenantPages::close() {
  if (control_ != nullptr) munmap(const_cast<ControlPage*>(control_), sizeof(ControlPage));
  if (report_ != nullptr) munmap(report_, sizeof(ReportPage));
  if (work_ != nullptr) munmap(work_, sizeof(WorkPage));
  *this = TenantPages();
}

const char* openStatusName(OpenStatus status) {
  switch (status) {
    case OpenStatus::kOk:
      return "ok";
    case OpenStatus::kAbsent:
      return "absent";
    case OpenStatus::kDenied:
      return "cannot be opened";
    case OpenStatus::kTruncated:
      return "truncated";
    case OpenStatus::kBadMagic:
      return "not a ledger file";
    case OpenStatus::kNewer:
      return "of a newer version";
    case OpenStatus::kOlder:
      return "of a version too old";
    case OpenStatus::kOtherLayout:
      return "of another layout";
    case OpenStatus::kStaleBoot:
      return "from before the last reboot";
    case OpenStatus::kMismatched:
      return "control and report do not belong together";
    case OpenStatus::kBadValues:
      return "values out of range";
    case OpenStatus::kNoMemory:
      return "cannot be mapped";
  }
  return "unknown status";
}

const char* findTenantDir() {
  const ErrnoKeeper keeper;
  const int fd = sysOpen(kFixedDir, O_PATH | O_DIRECTORY);
  if (fd >= 0) {
    sysClose(fd);
    return kFixedDir;
  }
  const char* dir = getenv("DIVVY_TENANT_DIR");
  return dir != nullptr && *dir != 0 ? dir : nullptr;
}

}  // namespace divvy::ledger
