// Creates a tenant's directory: completely under another name, then renamed.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "base/folder_mode.h"
#include "files/mapping.h"
#include "files/new_file.h"
#include "ledger/tenant_ledger.h"
#include "tenant/spec.h"

namespace divvy::ledger {
namespace {

namespace fs = std::filesystem;

// Other users cannot enter the directory. A container gets the three files bind-mounted, control
// read-only, and its processes may run as any UID.
Result<void> fill(const fs::path& dir, const TenantSpec& spec) {
  const auto control = std::make_unique<ControlPage>();
  const auto report = std::make_unique<ReportHeader>();
  writeControl(spec, *control);
  writeReportHeader(spec, *report);
  WorkHeader work{};
  writeWorkHeader(spec, work);
  const std::size_t slots = control->header.slots_ready;
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ioError("opening", errno);
  Result<void> result = writeFile(
      fd, {"control", 0644, control.get(), sizeof *control, sizeof *control, sizeof *control});
  if (result) {
    result = writeFile(fd, {"report", 0666, report.get(), sizeof *report, sizeof(ReportPage),
                            offsetof(ReportPage, slots) + slots * sizeof(Slot)});
  }
  const auto ready = static_cast<unsigned>(slots);
  if (result) {
    result = writeFile(fd, {"work", 0666, &work, sizeof work, sizeof(WorkPage), workBytes(ready)});
  }
  if (result && fsync(fd) != 0) result = ioError("finishing", errno);
  close(fd);
  return result;
}

Result<void> moveIntoPlace(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  int code = errno;
  // Some file systems do not support flags; rename still does not replace a directory that is not
  // empty.
  if (code == EINVAL && rename(from.c_str(), to.c_str()) == 0) return {};
  if (code == EINVAL) code = errno;
  if (code == EEXIST || code == ENOTEMPTY) {
    return Error(ErrorCode::kUsage, "the directory exists already");
  }
  return ioError("renaming", code);
}

}  // namespace

Result<TenantLedger> TenantLedger::create(const fs::path& dir, const TenantSpec& spec) {
  const std::string doing = "creating tenant pages in " + dir.string();
  if (Result<void> good = checkSpec(spec); !good) return std::move(good).error().context(doing);
  std::string pattern = (dir.parent_path() / ".new-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return ioError(doing, errno);
  const fs::path fresh = pattern;
  Result<void> made;
  if (chmod(fresh.c_str(), modeIn(dir.parent_path().string(), 0700)) != 0)
    made = ioError("opening to its group", errno);
  if (made) made = fill(fresh, spec);
  if (made) made = moveIntoPlace(fresh, dir);
  if (!made) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    return std::move(made.error()).context(doing);
  }
  return adopt(dir);
}

}  // namespace divvy::ledger
