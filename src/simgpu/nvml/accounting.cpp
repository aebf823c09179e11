// Accounting: NVML's data of processes that used a card. Off until switched on. A simulated card
// lets any user do that; the real one requires root.
#include <algorithm>
#include <ctime>

#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

std::uint64_t realtimeNow() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The accounts with dead processes already in the ring. nullptr while no program has used the card.
Card* sweptCard(NvmlCard& card) {
  Card* shared = card.sharedCard();
  if (shared != nullptr) shared->used();
  return shared;
}

// Finds a running process, or the latest one with this PID that ended while accounting was on.
bool findAccount(const CardFile& file, unsigned pid, AccountingEntry* out, bool* runs) {
  for (const ProcessRecord& record : file.processes) {
    if (record.claimed == 0 || record.pid != pid) continue;
    *runs = true;
    *out = {pid, 0, record.peak_bytes, record.claimed_ns, realtimeNow(), record.busy_ns};
    return true;
  }
  *runs = false;
  bool found = false;
  for (const AccountingEntry& entry : file.accounts) {
    if (entry.pid != pid || (found && entry.end_ns < out->end_ns)) continue;
    *out = entry;
    found = true;
  }
  return found;
}

nvmlReturn_t accountingStats(NvmlCard& card, unsigned pid, nvmlAccountingStats_t* stats) {
  if (stats == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  Card* shared = sweptCard(card);
  if (shared == nullptr) return NVML_ERROR_NOT_FOUND;
  CardLock lock(*shared);
  AccountingEntry entry{};
  bool runs = false;
  if (shared->file().accounting == 0) return NVML_ERROR_NOT_SUPPORTED;
  if (!findAccount(shared->file(), pid, &entry, &runs)) return NVML_ERROR_NOT_FOUND;
  const std::uint64_t elapsed_us =
      std::max<std::uint64_t>(1, (entry.end_ns - entry.begin_ns) / 1000);
  *stats = {};
  stats->gpuUtilization =
      static_cast<unsigned>(std::min<std::uint64_t>(100, entry.busy_ns / 10 / elapsed_us));
  stats->memoryUtilization = stats->gpuUtilization / 2;
  stats->maxMemoryUsage = entry.peak_bytes;
  stats->time = runs ? 0 : elapsed_us / 1000;  // known only afterwards
  stats->startTime = entry.begin_ns / 1000;
  stats->isRunning = runs ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t accountingPids(NvmlCard& card, unsigned* count, unsigned* pids) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  std::vector<unsigned> all;
  if (Card* shared = sweptCard(card); shared != nullptr) {
    CardLock lock(*shared);
    for (const ProcessRecord& record : shared->file().processes) {
      if (record.claimed != 0 && record.contexts_made != 0) all.push_back(record.pid);
    }
    for (const AccountingEntry& entry : shared->file().accounts) {
      if (entry.pid != 0) all.push_back(entry.pid);
    }
  }
  const unsigned room = *count;
  *count = static_cast<unsigned>(all.size());
  if (all.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (!all.empty() && pids == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  std::copy(all.begin(), all.end(), pids);
  return NVML_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(nvmlDeviceGetAccountingMode)(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return answer(device, mode, [](NvmlCard& card) {
    const Card* shared = card.sharedCard();
    return shared != nullptr && shared->file().accounting != 0 ? NVML_FEATURE_ENABLED
                                                               : NVML_FEATURE_DISABLED;
  });
}
SIMGPU_IMPL(nvmlDeviceSetAccountingMode)(nvmlDevice_t device, nvmlEnableState_t mode) {
  return withCard(device, [&](NvmlCard& card) {
    Card* shared = card.makeSharedCard();
    if (shared == nullptr) return NVML_ERROR_NO_PERMISSION;
    CardLock lock(*shared);
    shared->file().accounting = mode == NVML_FEATURE_ENABLED ? 1 : 0;
    return NVML_SUCCESS;
  });
}
SIMGPU_IMPL(nvmlDeviceGetAccountingBufferSize)(nvmlDevice_t device, unsigned int* size) {
  return answer(device, size, [](NvmlCard&) { return kAccountingRing; });
}
SIMGPU_IMPL(nvmlDeviceGetAccountingPids)
(nvmlDevice_t device, unsigned int* count, unsigned int* pids) {
  return withCard(device, [&](NvmlCard& card) { return accountingPids(card, count, pids); });
}
SIMGPU_IMPL(nvmlDeviceGetAccountingStats)
(nvmlDevice_t device, unsigned int pid, nvmlAccountingStats_t* stats) {
  return withCard(device, [&](NvmlCard& card) { return accountingStats(card, pid, stats); });
}
SIMGPU_IMPL(nvmlDeviceClearAccountingPids)(nvmlDevice_t device) {
  return withCard(device, [](NvmlCard& card) {
    Card* shared = card.sharedCard();
    if (shared == nullptr) return NVML_SUCCESS;
    CardLock lock(*shared);
    for (AccountingEntry& entry : shared->file().accounts) entry = {};
    return NVML_SUCCESS;
  });
}

}  // namespace divvy::simgpu
