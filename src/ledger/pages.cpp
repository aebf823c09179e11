#include "ledger/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "identification.h"
#include "syscalls.h"

namespace divvy::ledger {
namespace {

constexpr char kFixedDir[] = "/run/divvy/tenant";

struct MappedFile {
  OpenStatus status;
  void* memory;
};

// Opens <dir>/<name>, judges its head by pread (a mapping of a short file would fault) and maps it.
MappedFile mapFile(const char* dir, const char* name, bool writable, std::uint64_t magic,
                   std::size_t size) {
  char path[4096];
  const std::size_t dir_length = strnlen(dir, sizeof path);
  const std::size_t name_length = strlen(name);
  if (dir_length + name_length + 2 > sizeof path) return {OpenStatus::kAbsent, nullptr};
  memcpy(path, dir, dir_length);
  path[dir_length] = '/';
  memcpy(path + dir_length + 1, name, name_length + 1);

  // O_NONBLOCK: a FIFO in the file's place must not hold us.
  const int fd = sysOpen(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return {absent ? OpenStatus::kAbsent : OpenStatus::kDenied, nullptr};
  }
  MappedFile result{OpenStatus::kDenied, nullptr};
  struct stat info;
  Identification id;
  memset(&id, 0, sizeof id);
  if (sysFstat(fd, &info) == 0 && S_ISREG(info.st_mode) && sysReadStart(fd, &id, sizeof id) >= 0) {
    result.status = checkIdentification(id, magic, size, static_cast<std::uint64_t>(info.st_size));
  }
  if (result.status == OpenStatus::kOk) {
    void* memory = mmap(nullptr, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      result.status = OpenStatus::kNoMemory;
    } else {
      result.memory = memory;
    }
  }
  sysClose(fd);
  return result;
}

bool sameTenant(const ControlPage& control, const ReportPage& report) {
  const Identification& mine = control.header.id;
  const Identification& other = report.header.id;
  return memcmp(mine.boot_id, other.boot_id, sizeof mine.boot_id) == 0 &&
         control.header.id.generation == report.header.id.generation &&
         memcmp(control.header.tenant_id, report.header.tenant_id,
                sizeof control.header.tenant_id) == 0;
}

}  // namespace

OpenStatus TenantPages::open(const char* dir, TenantPages* out) {
  const ErrnoKeeper keeper;
  const MappedFile control = mapFile(dir, "control", false, kControlMagic, sizeof(ControlPage));
  if (control.status != OpenStatus::kOk) return control.status;
  TenantPages pages;
  pages.control_ = static_cast<const ControlPage*>(control.memory);
  // The report's boot is compared with the control page's, below.
  OpenStatus status = checkBoot(pages.control_->header.id);
  if (status == OpenStatus::kOk) status = checkControl(*pages.control_);
  if (status == OpenStatus::kOk) {
    const MappedFile report = mapFile(dir, "report", true, kReportMagic, sizeof(ReportPage));
    status = report.status == OpenStatus::kAbsent ? OpenStatus::kMismatched : report.status;
    pages.report_ = static_cast<ReportPage*>(report.memory);
    if (status == OpenStatus::kOk && !sameTenant(*pages.control_, *pages.report_)) {
      status = OpenStatus::kMismatched;
    }
  }
  if (status != OpenStatus::kOk) {
    pages.close();
    return status;
  }
  pages.device_count_ = pages.control_->header.device_count;
  pages.slots_capacity_ = pages.control_->header.slots_capacity;
  *out = pages;
  return OpenStatus::kOk;
}

void TenantPages::close() {
  if (control_ != nullptr) munmap(const_cast<ControlPage*>(control_), sizeof(ControlPage));
  if (report_ != nullptr) munmap(report_, sizeof(ReportPage));
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
