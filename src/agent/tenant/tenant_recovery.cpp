// Recovery of tenants from the runtime directory, by a new agent.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "container/tenant_edits.h"
#include "log/log.h"
#include "os/heartbeat_file.h"
#include "os/managed_files.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

// The control page outlives the note beside it; both agree but for changes after a full
// disk.
void believePages(TenantRecord& record, const ledger::TenantSpec& spec, bool has_note) {
  if (record.name.empty()) record.name = spec.name;
  if (!has_note) record.contained = spec.agent_socket == kRegistrarInside;
  const bool capped =
      std::any_of(spec.devices.begin(), spec.devices.end(),
                  [](const ledger::DeviceSpec& device) { return device.cores_ceiling < 100; });
  if (!has_note && capped) record.cores_policy = CoresPolicy::kCap;
  record.context_inside = !spec.context_overhead_outside;
  record.shares.clear();
  for (const ledger::DeviceSpec& device : spec.devices) {
    const Bytes reserve = record.context_inside ? device.ceiling : device.ceiling + device.context;
    record.shares.push_back(
        {device.uuid, device.ceiling, reserve, device.cores_guarantee, device.guarantee});
  }
}

// Sorted. No directory is no tenants; one that cannot be read may hold some.
Result<std::vector<std::string>> namesIn(const std::string& dir) {
  std::error_code fault;
  std::vector<std::string> names;
  fs::directory_iterator entry(dir, fault);
  if (fault == std::errc::no_such_file_or_directory) return names;
  for (; !fault && entry != fs::directory_iterator(); entry.increment(fault)) {
    names.push_back(entry->path().filename().string());
  }
  if (fault) return Error{ErrorCode::kIo, "listing " + dir + ": " + fault.message()};
  std::sort(names.begin(), names.end());
  return names;
}

bool isFolder(const std::string& path) {
  std::error_code fault;
  return fs::is_directory(fs::symlink_status(path, fault));
}

// A share with an interrupted creation, as the ledger names it.
bool isHalf(const std::string& path, const std::string& name) {
  return name.starts_with(".new-") && isFolder(path);
}

// It was ours at some time: of its files one is there at least, whatever became of it.
bool isShare(const std::string& path) {
  const std::vector<ManagedFile> files = tenantFiles();
  const auto there = [&](const ManagedFile& one) {
    struct stat info {};
    return lstat((path + "/" + std::string(one.name)).c_str(), &info) == 0;
  };
  return isFolder(path) && std::any_of(files.begin(), files.end(), there);
}

}  // namespace

Result<void> TenantManager::recoverAll() {
  const Result<std::vector<std::string>> ids = namesIn(paths_.tenants());
  if (!ids) return ids.error();
  std::error_code fault;
  for (const std::string& id : *ids) {
    const std::string path = paths_.tenants() + "/" + id;
    // An agent that was killed between the last file of a share and its folder.
    if (isFolder(path) && rmdir(path.c_str()) == 0) continue;
    if (isHalf(path, id)) {
      fs::remove_all(path, fault);
    } else if (isShare(path)) {
      recover(id);
    } else {
      log::warn(
          "a directory is not a share of Divvy and is left alone; remove it if it is not needed",
          {{"directory", path}});
    }
  }
  // A device on which one of them takes turns concerns those that were taken over before it.
  for (const auto& [id, tenant] : table_.all())
    if (tenant->pages) overcommit_.updateEntitlement(*tenant);
  return {};
}

void TenantManager::recover(const std::string& id) {
  auto tenant = std::make_shared<Tenant>(loop_);
  tenant->dir = paths_.tenants() + "/" + id;
  Result<TenantRecord> record = loadRecord(tenant->dir);
  if (record) {
    tenant->record = std::move(*record);
  } else if (record.error().code() != ErrorCode::kNotFound) {
    log::warn("the record of a tenant is lost",
              {{"tenant", id}, {"error", record.error().message()}});
    // The operator may read the old record; a new one is written.
    const std::string note = tenant->dir + "/tenant.json";
    static_cast<void>(std::rename(note.c_str(), (note + ".lost").c_str()));
  }
  const bool note_lost = !record && record.error().code() != ErrorCode::kNotFound;
  tenant->record.id = id;
  Result<ledger::TenantLedger> pages = ledger::TenantLedger::adopt(tenant->dir);
  if (pages) {
    tenant->pages = std::move(*pages);
    believePages(tenant->record, tenant->pages->spec(), record.has_value());
    static_cast<void>(tenant->pages->nextAgentEpoch());
  } else {
    tenant->broken = pages.error().message();
    log::warn("cannot recover a tenant; its share is kept while its processes run",
              {{"tenant", id}, {"error", tenant->broken}});
  }
  // A broken tenant has it, too: it is kept while a process lives in it.
  if (tenant->record.contained || tenant->record.ofPod())
    tenant->control = placeOf(tenant->dir + "/control");
  table_.add(tenant);
  if (note_lost) keepUnrecorded(tenant);
  if (tenant->pages) {
    const Result<ledger::ReportSnapshot> report = tenant->pages->readReport();
    if (report) UsageAuditMonitor::noteReport(*tenant, *report, 1);
    overcommit_.inheritConfig(*tenant);
    Result<void> swap = overcommit_.writeConfig(*tenant);
    if (!swap)
      log::warn("cannot write the memory configuration of a tenant",
                {{"tenant", id}, {"error", swap.error().message()}});
    // Idle since its creation, or since its work is counted, unless its report differs; and not
    // before an agent watched it: without an agent gates are open.
    const bool watched = watchedLately(paths_.watchMark());
    if (!watched || capacity_.policy().stopMs(tenant->record) == 0) tenant->record.counted = 0;
    std::int64_t from = tenant->memory.swap() ? tenant->record.created : tenant->record.counted;
    if (!watched) from = 0;
    const std::int64_t age = std::max<std::int64_t>(std::time(nullptr) - from, 0);
    const auto age_ms = static_cast<std::uint64_t>(age) * 1000;
    compute_.openActivity(*tenant);
    tenant->activity.begin(from == 0 ? nowMs() : nowMs() - std::min(nowMs(), age_ms));
    if (const Result<void> saved = saveRecord(tenant->dir, tenant->record); !saved)
      log::warn("cannot store the record of a tenant",
                {{"tenant", id}, {"error", saved.error().message()}});
    registerWithArbiter(*tenant);
    log::info("recovered a tenant", {{"tenant", id}});
  }
  liveness_.watchHolder(tenant);
}

// The lost record had the owner of the share, and whether it is kept without processes.
void TenantManager::keepUnrecorded(const TenantPtr& tenant) {
  if (!tenant->record.contained && liveness_.watchSurvivors(tenant)) return;  // it ends with these
  tenant->record.kept = true;
  log::warn(
      "a tenant has no process, or its container may restart; its share is kept until it is "
      "removed",
      {{"tenant", tenant->record.id},
       {"remove_by", "divvy share rm " +
                         (tenant->record.name.empty() ? tenant->record.id : tenant->record.name)}});
}

}  // namespace divvy::agent
