// Processes that use a device: the tenant's own ones, with PIDs of the tenant's namespace.
//
// Compute processes and their bytes come from the ledger. Only the driver knows whether a process
// also draws or runs under MPS, so those lists are filtered for own entries.
#include "nvml/nvml_table.h"
#include "nvml/row_list.h"

using namespace divvy::interposer;

namespace {

constexpr unsigned kNoInstance = 0xFFFFFFFFu;

// One answer row, in the widest form.
struct Row {
  unsigned pid;
  unsigned gpu_instance;
  unsigned compute_instance;
  unsigned long long bytes;
};

// Collects rows in the caller's arrays of any version; rows beyond the array are only counted.
template <typename Info>
class Collector {
 public:
  Collector(Info* infos, unsigned room) : infos_(infos), room_(room) {}

  void add(const Row& row) {
    if (count_ < room_) put(infos_[count_], row);
    ++count_;
  }

  // Ends as NVML does: with the number written, or the number that would have been written.
  nvmlReturn_t finish(unsigned* count) const {
    *count = count_;
    return count_ <= room_ ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
  }

 private:
  static void put(nvmlProcessInfo_v1_t& info, const Row& row) {
    info.pid = row.pid;
    info.usedGpuMemory = row.bytes;
  }
  static void put(nvmlProcessInfo_v2_t& info, const Row& row) {
    info.pid = row.pid;
    info.usedGpuMemory = row.bytes;
    info.gpuInstanceId = row.gpu_instance;
    info.computeInstanceId = row.compute_instance;
  }
  static void put(nvmlProcessDetail_v1_t& info, const Row& row) {
    info.pid = row.pid;
    info.usedGpuMemory = row.bytes;
    info.gpuInstanceId = row.gpu_instance;
    info.computeInstanceId = row.compute_instance;
    info.usedGpuCcProtectedMemory = 0;
  }

  Info* infos_;
  unsigned room_;
  unsigned count_ = 0;
};

// The fields that are equal in all rows of a device: the numbers of its MIG instance.
Row rowOf(const DeviceView& view, const Unit& unit) {
  Row row{0, kNoInstance, kNoInstance, 0};
  nvmlDevice_t handle = nullptr;
  if (view.isInstance(unit) && view.lookUp(unit, &handle) == NVML_SUCCESS) {
    driver<Nv::nvmlDeviceGetGpuInstanceId>(handle, &row.gpu_instance);
    driver<Nv::nvmlDeviceGetComputeInstanceId>(handle, &row.compute_instance);
  }
  return row;
}

// Own processes with memory on the device; on a card seen for its instances, one row for each.
template <typename Info>
void addHolders(NvmlTenant& tenant, const TenantProcesses& own, const Unit& unit,
                Collector<Info>& out) {
  for (unsigned share = 0; share < divvy::ledger::kMaxDevices; ++share) {
    if ((unit.shares >> share & 1u) == 0) continue;
    const Unit& part = *tenant.view().unitOfShare(share);
    Row row = rowOf(tenant.view(), part);
    for (unsigned i = 0; i < own.count(); ++i) {
      row.pid = own[i].pid;
      row.bytes = tenant.processUsed(own[i].slot, part);
      if (row.bytes != 0) out.add(row);
    }
  }
}

enum class Which { kAll, kWithoutMemory };

// Own processes that the driver lists. The query uses the oldest form, the only one with a layout
// that no driver ever changed.
template <Nv kListV1, typename Info>
void addListed(NvmlTenant& tenant, const TenantProcesses& own, nvmlDevice_t device,
               const Unit& unit, Which which, Collector<Info>& out) {
  MmapBuffer<nvmlProcessInfo_v1_t> list(0);
  unsigned count = 0;
  const nvmlReturn_t result = readWhole(
      list, &count, [device](unsigned* n, auto* rows) { return driver<kListV1>(device, n, rows); });
  if (result != NVML_SUCCESS) return;
  count = keepOwn(own, list.rows(), count, [](auto& info) -> unsigned& { return info.pid; });
  Row row = rowOf(tenant.view(), unit);
  for (unsigned i = 0; i < count; ++i) {
    row.pid = list.rows()[i].pid;
    row.bytes = tenant.processUsed(own.byPid(row.pid)->slot, unit);
    if (which == Which::kAll || row.bytes == 0) out.add(row);
  }
}

// A process with memory is a compute process. So is one with a context only, which only the driver
// knows.
template <typename Info>
void addCompute(NvmlTenant& tenant, const TenantProcesses& own, nvmlDevice_t device,
                const Unit& unit, Collector<Info>& out) {
  addHolders(tenant, own, unit, out);
  addListed<Nv::nvmlDeviceGetComputeRunningProcesses>(tenant, own, device, unit,
                                                      Which::kWithoutMemory, out);
}

// Returns true if the driver accepts the query for the length of its list.
bool answers(nvmlReturn_t result) {
  return result == NVML_SUCCESS || result == NVML_ERROR_INSUFFICIENT_SIZE;
}

// The common part of all nine functions. `fill` adds the rows for a unit of the tenant.
template <Nv kId, typename Info, typename Fill>
nvmlReturn_t running(NvmlTenant* tenant, nvmlDevice_t device, unsigned* count, Info* infos,
                     Fill fill) {
  if (tenant == nullptr || count == nullptr || (*count != 0 && infos == nullptr)) {
    return driver<kId>(device, count, infos);
  }
  unsigned none = 0;
  const nvmlReturn_t result = driver<kId>(device, &none, static_cast<Info*>(nullptr));
  if (!answers(result)) return result;
  const ErrnoKeeper keeper;
  Collector<Info> out(infos, *count);
  const Unit* unit = tenant->view().find(device);
  if (unit != nullptr) {
    const TenantProcesses own(tenant->account());
    fill(own, *unit, out);
  }
  return out.finish(count);
}

template <Nv kId, typename Info>
nvmlReturn_t compute(NvmlTenant* tenant, nvmlDevice_t device, unsigned* count, Info* infos) {
  return running<kId>(tenant, device, count, infos,
                      [=](const TenantProcesses& own, const Unit& unit, Collector<Info>& out) {
                        addCompute(*tenant, own, device, unit, out);
                      });
}

template <Nv kId, Nv kListV1, typename Info>
nvmlReturn_t listed(NvmlTenant* tenant, nvmlDevice_t device, unsigned* count, Info* infos) {
  return running<kId>(tenant, device, count, infos,
                      [=](const TenantProcesses& own, const Unit& unit, Collector<Info>& out) {
                        addListed<kListV1>(*tenant, own, device, unit, Which::kAll, out);
                      });
}

}  // namespace

DIVVY_HOOK(nvmlDeviceGetComputeRunningProcesses)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_v1_t* infos) noexcept {
  return compute<Nv::nvmlDeviceGetComputeRunningProcesses>(viewerFor(caller()), device, infoCount,
                                                           infos);
}

DIVVY_HOOK(nvmlDeviceGetComputeRunningProcesses_v2)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_v2_t* infos) noexcept {
  return compute<Nv::nvmlDeviceGetComputeRunningProcesses_v2>(viewerFor(caller()), device,
                                                              infoCount, infos);
}

DIVVY_HOOK(nvmlDeviceGetComputeRunningProcesses_v3)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_t* infos) noexcept {
  return compute<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(viewerFor(caller()), device,
                                                              infoCount, infos);
}

DIVVY_HOOK(nvmlDeviceGetGraphicsRunningProcesses)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_v1_t* infos) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetGraphicsRunningProcesses;
  return listed<kSelf, kSelf>(viewerFor(caller()), device, infoCount, infos);
}

DIVVY_HOOK(nvmlDeviceGetGraphicsRunningProcesses_v2)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_v2_t* infos) noexcept {
  return listed<Nv::nvmlDeviceGetGraphicsRunningProcesses_v2,
                Nv::nvmlDeviceGetGraphicsRunningProcesses>(viewerFor(caller()), device, infoCount,
                                                           infos);
}

DIVVY_HOOK(nvmlDeviceGetGraphicsRunningProcesses_v3)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_t* infos) noexcept {
  return listed<Nv::nvmlDeviceGetGraphicsRunningProcesses_v3,
                Nv::nvmlDeviceGetGraphicsRunningProcesses>(viewerFor(caller()), device, infoCount,
                                                           infos);
}

DIVVY_HOOK(nvmlDeviceGetMPSComputeRunningProcesses)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_v1_t* infos) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetMPSComputeRunningProcesses;
  return listed<kSelf, kSelf>(viewerFor(caller()), device, infoCount, infos);
}

DIVVY_HOOK(nvmlDeviceGetMPSComputeRunningProcesses_v2)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_v2_t* infos) noexcept {
  return listed<Nv::nvmlDeviceGetMPSComputeRunningProcesses_v2,
                Nv::nvmlDeviceGetMPSComputeRunningProcesses>(viewerFor(caller()), device, infoCount,
                                                             infos);
}

DIVVY_HOOK(nvmlDeviceGetMPSComputeRunningProcesses_v3)
(nvmlDevice_t device, unsigned* infoCount, nvmlProcessInfo_t* infos) noexcept {
  return listed<Nv::nvmlDeviceGetMPSComputeRunningProcesses_v3,
                Nv::nvmlDeviceGetMPSComputeRunningProcesses>(viewerFor(caller()), device, infoCount,
                                                             infos);
}

DIVVY_HOOK(nvmlDeviceGetRunningProcessDetailList)
(nvmlDevice_t device, nvmlProcessDetailList_t* plist) noexcept {
  constexpr Nv kSelf = Nv::nvmlDeviceGetRunningProcessDetailList;
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || plist == nullptr || plist->version != nvmlProcessDetailList_v1) {
    if (tenant != nullptr && plist != nullptr) tenant->passedUnknown(kSelf, plist->version);
    return driver<kSelf>(device, plist);
  }
  if (plist->numProcArrayEntries != 0 && plist->procArray == nullptr) {
    return driver<kSelf>(device, plist);
  }
  nvmlProcessDetailList_t question = {plist->version, plist->mode, 0, nullptr};
  const nvmlReturn_t result = driver<kSelf>(device, &question);
  if (!answers(result)) return result;
  const ErrnoKeeper keeper;
  Collector<nvmlProcessDetail_v1_t> out(plist->procArray, plist->numProcArrayEntries);
  const Unit* unit = tenant->view().find(device);
  if (unit != nullptr) {
    const TenantProcesses own(tenant->account());
    const unsigned mode = plist->mode;
    if (mode == NVML_PROCESS_MODE_COMPUTE || mode == NVML_PROCESS_MODE_ALL) {
      addCompute(*tenant, own, device, *unit, out);
    }
    if (mode == NVML_PROCESS_MODE_GRAPHICS || mode == NVML_PROCESS_MODE_ALL) {
      // The list of all contains processes that also compute already.
      const Which which = mode == NVML_PROCESS_MODE_ALL ? Which::kWithoutMemory : Which::kAll;
      addListed<Nv::nvmlDeviceGetGraphicsRunningProcesses>(*tenant, own, device, *unit, which, out);
    }
    if (mode == NVML_PROCESS_MODE_MPS) {
      addListed<Nv::nvmlDeviceGetMPSComputeRunningProcesses>(*tenant, own, device, *unit,
                                                             Which::kAll, out);
    }
  }
  return out.finish(&plist->numProcArrayEntries);
}
