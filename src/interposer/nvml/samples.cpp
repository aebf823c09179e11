// Activity of single processes on a device: samples, accounting and sessions, of own processes
// only.
#include "nvml/nvml_table.h"
#include "nvml/row_list.h"

using namespace divvy::interposer;

namespace {

constexpr auto kPidMember = [](auto& row) -> unsigned& { return row.pid; };
constexpr auto kPidItself = [](unsigned& row) -> unsigned& { return row; };

// Sessions. A caller without an array only queries the number, which succeeds.
template <Nv kId, typename Info>
nvmlReturn_t sessions(NvmlTenant* tenant, nvmlDevice_t device, unsigned* count, Info* infos) {
  if (tenant == nullptr || count == nullptr || (*count != 0 && infos == nullptr)) {
    return driver<kId>(device, count, infos);
  }
  const ErrnoKeeper keeper;
  MmapBuffer<Info> list(0);
  unsigned all = 0;
  const nvmlReturn_t result = readWhole(
      list, &all, [device](unsigned* n, Info* rows) { return driver<kId>(device, n, rows); });
  if (result != NVML_SUCCESS) return result;
  const TenantProcesses own(tenant->account());
  const unsigned kept = keepOwn(own, list.rows(), all, kPidMember);
  if (*count != 0) return deliver(list.rows(), kept, count, infos);
  *count = kept;
  return NVML_SUCCESS;
}

// Queries the process with the tenant's `pid` under the driver's numbers: first the node's; then,
// for drivers that translate, the tenant's own. `ask(pid)` is a driver call.
template <typename Ask>
nvmlReturn_t askAbout(const TenantProcess& process, Ask ask) {
  nvmlReturn_t result = NVML_ERROR_NOT_FOUND;
  if (process.host_pid != 0) result = ask(process.host_pid);
  if (result == NVML_ERROR_NOT_FOUND && process.host_pid != process.pid) result = ask(process.pid);
  return result;
}

}  // namespace

DIVVY_HOOK(nvmlDeviceGetProcessUtilization)
(nvmlDevice_t device, nvmlProcessUtilizationSample_t* utilization, unsigned* processSamplesCount,
 unsigned long long lastSeenTimeStamp) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetProcessUtilization;
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || processSamplesCount == nullptr) {
    return driver<kSelf>(device, utilization, processSamplesCount, lastSeenTimeStamp);
  }
  const ErrnoKeeper keeper;
  const TenantProcesses own(tenant->account());
  if (utilization == nullptr) {
    // Only a query for the array size: one row for every process that could have one.
    unsigned all = *processSamplesCount;
    const nvmlReturn_t result = driver<kSelf>(device, utilization, &all, lastSeenTimeStamp);
    const bool told = result == NVML_SUCCESS || result == NVML_ERROR_INSUFFICIENT_SIZE;
    if (told) *processSamplesCount = own.count() == 0 ? 1 : own.count();
    return result;
  }
  MmapBuffer<nvmlProcessUtilizationSample_t> list(0);
  unsigned all = 0;
  const nvmlReturn_t result =
      readWhole(list, &all, [=](unsigned* n, nvmlProcessUtilizationSample_t* rows) {
        return driver<kSelf>(device, rows, n, lastSeenTimeStamp);
      });
  if (result != NVML_SUCCESS) return result;
  const unsigned kept = keepOwn(own, list.rows(), all, kPidMember);
  if (kept == 0) return NVML_ERROR_NOT_FOUND;
  return deliver(list.rows(), kept, processSamplesCount, utilization);
}

DIVVY_HOOK(nvmlDeviceGetProcessesUtilizationInfo)
(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t* info) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetProcessesUtilizationInfo;
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || info == nullptr || info->version != nvmlProcessesUtilizationInfo_v1) {
    if (tenant != nullptr && info != nullptr) tenant->passedUnknown(kSelf, info->version);
    return driver<kSelf>(device, info);
  }
  const ErrnoKeeper keeper;
  nvmlProcessesUtilizationInfo_t question = *info;
  MmapBuffer<nvmlProcessUtilizationInfo_v1_t> list(0);
  unsigned all = 0;
  const nvmlReturn_t result =
      readWhole(list, &all, [&](unsigned* n, nvmlProcessUtilizationInfo_v1_t* rows) {
        question.processSamplesCount = *n;
        question.procUtilArray = rows;
        const nvmlReturn_t answer = driver<kSelf>(device, &question);
        *n = question.processSamplesCount;
        return answer;
      });
  if (result != NVML_SUCCESS) return result;
  const TenantProcesses own(tenant->account());
  const unsigned kept = keepOwn(own, list.rows(), all, kPidMember);
  if (kept == 0) return NVML_ERROR_NOT_FOUND;
  return deliver(list.rows(), kept, &info->processSamplesCount, info->procUtilArray);
}

DIVVY_HOOK(nvmlDeviceGetAccountingPids)
(nvmlDevice_t device, unsigned* count, unsigned* pids) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetAccountingPids;
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || count == nullptr) return driver<kSelf>(device, count, pids);
  const ErrnoKeeper keeper;
  MmapBuffer<unsigned> list(0);
  unsigned all = 0;
  const nvmlReturn_t result = readWhole(
      list, &all, [device](unsigned* n, unsigned* rows) { return driver<kSelf>(device, n, rows); });
  if (result != NVML_SUCCESS) return result;
  const TenantProcesses own(tenant->account());
  return deliver(list.rows(), keepOwn(own, list.rows(), all, kPidItself), count, pids);
}

DIVVY_HOOK(nvmlDeviceGetAccountingStats)
(nvmlDevice_t device, unsigned pid, nvmlAccountingStats_t* stats) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetAccountingStats;
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || stats == nullptr) return driver<kSelf>(device, pid, stats);
  const ErrnoKeeper keeper;
  nvmlAccountingStats_t found{};
  const TenantProcesses own(tenant->account());
  const TenantProcess* process = own.byPid(pid);
  if (process == nullptr) {
    // The driver's error about the query is returned, but not its data on other processes.
    const nvmlReturn_t result = driver<kSelf>(device, pid, &found);
    return result == NVML_SUCCESS ? NVML_ERROR_NOT_FOUND : result;
  }
  const nvmlReturn_t result =
      askAbout(*process, [&](unsigned number) { return driver<kSelf>(device, number, &found); });
  if (result == NVML_SUCCESS) *stats = found;
  return result;
}

DIVVY_HOOK(nvmlDeviceGetAccountingStats_v2)
(nvmlDevice_t device, nvmlAccountingStats_v2_t* stats) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetAccountingStats_v2;
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || stats == nullptr) return driver<kSelf>(device, stats);
  const ErrnoKeeper keeper;
  nvmlAccountingStats_v2_t found = *stats;
  const TenantProcesses own(tenant->account());
  const TenantProcess* process = own.byPid(stats->pid);
  if (process == nullptr) {
    const nvmlReturn_t result = driver<kSelf>(device, &found);
    return result == NVML_SUCCESS ? NVML_ERROR_NOT_FOUND : result;
  }
  const nvmlReturn_t result = askAbout(*process, [&](unsigned number) {
    found.pid = number;
    return driver<kSelf>(device, &found);
  });
  if (result != NVML_SUCCESS) return result;
  found.pid = stats->pid;
  *stats = found;
  return result;
}

DIVVY_HOOK(nvmlDeviceGetEncoderSessions)
(nvmlDevice_t device, unsigned* sessionCount, nvmlEncoderSessionInfo_t* sessionInfos) noexcept {
  return sessions<Nv::nvmlDeviceGetEncoderSessions>(viewerFor(caller()), device, sessionCount,
                                                    sessionInfos);
}

DIVVY_HOOK(nvmlDeviceGetFBCSessions)
(nvmlDevice_t device, unsigned* sessionCount, nvmlFBCSessionInfo_t* sessionInfo) noexcept {
  return sessions<Nv::nvmlDeviceGetFBCSessions>(viewerFor(caller()), device, sessionCount,
                                                sessionInfo);
}
