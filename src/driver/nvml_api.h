// The entry points of the management library that daemons use. Private.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "abi/nvml_enums.h"
#include "abi/nvml_protos.h"
#include "driver/library.h"
#include "driver/nvml.h"

namespace divvy::driver {
namespace detail {

template <abi::Nv id>
using Function = typename abi::NvFn<id>::type*;

inline std::string code(nvmlReturn_t status) {
  return "NVML error " + std::to_string(status);
}

}  // namespace detail

struct Nvml::Api {
  Library library;
  detail::Function<abi::Nv::nvmlInit_v2> init{};
  detail::Function<abi::Nv::nvmlShutdown> shutdown{};
  detail::Function<abi::Nv::nvmlSystemGetDriverVersion> driver_version{};
  detail::Function<abi::Nv::nvmlDeviceGetCount_v2> count{};
  detail::Function<abi::Nv::nvmlDeviceGetHandleByIndex_v2> handle{};
  detail::Function<abi::Nv::nvmlDeviceGetUUID> uuid{};
  detail::Function<abi::Nv::nvmlDeviceGetName> name{};
  detail::Function<abi::Nv::nvmlDeviceGetPciInfo_v3> pci{};
  detail::Function<abi::Nv::nvmlDeviceGetMemoryInfo> memory_v1{};
  detail::Function<abi::Nv::nvmlDeviceGetMemoryInfo_v2> memory_v2{};
  detail::Function<abi::Nv::nvmlDeviceGetUtilizationRates> utilization{};
  detail::Function<abi::Nv::nvmlDeviceGetComputeRunningProcesses_v3> processes{};
  detail::Function<abi::Nv::nvmlDeviceGetGraphicsRunningProcesses_v3> graphics_processes{};
  detail::Function<abi::Nv::nvmlDeviceGetProcessUtilization> process_utilization{};
  detail::Function<abi::Nv::nvmlDeviceGetMemoryAffinity> memory_affinity{};
  detail::Function<abi::Nv::nvmlDeviceGetTopologyCommonAncestor> common_ancestor{};
  detail::Function<abi::Nv::nvmlDeviceGetP2PStatus> p2p_status{};
  detail::Function<abi::Nv::nvmlDeviceGetNvLinkState> link_state{};
  detail::Function<abi::Nv::nvmlDeviceGetNvLinkRemotePciInfo_v2> link_remote{};
  detail::Function<abi::Nv::nvmlDeviceGetNvLinkRemoteDeviceType> link_remote_type{};

  detail::Function<abi::Nv::nvmlDeviceGetMigMode> mig_mode{};
  detail::Function<abi::Nv::nvmlDeviceGetMaxMigDeviceCount> most_parts{};
  detail::Function<abi::Nv::nvmlDeviceGetMigDeviceHandleByIndex> part_handle{};
  detail::Function<abi::Nv::nvmlDeviceGetGpuInstanceId> instance_id{};
  detail::Function<abi::Nv::nvmlDeviceGetHandleByUUID> handle_by_uuid{};

  detail::Function<abi::Nv::nvmlEventSetCreate> create_events{};
  detail::Function<abi::Nv::nvmlDeviceRegisterEvents> register_events{};
  detail::Function<abi::Nv::nvmlDeviceGetSupportedEventTypes> supported_events{};
  detail::Function<abi::Nv::nvmlEventSetWait_v2> wait_events{};

  detail::Function<abi::Nv::nvmlDeviceGetTotalEccErrors> ecc_errors{};
  detail::Function<abi::Nv::nvmlDeviceGetRemappedRows> remapped_rows{};
  detail::Function<abi::Nv::nvmlDeviceGetRetiredPagesPendingStatus> retired_pages{};
  // Questions that devices have answered as not supported.
  std::set<std::pair<nvmlDevice_t, int>> unsupported;
  std::shared_ptr<ProcessSource> process_source;  // null: the driver itself
  nvmlEventSet_t events = nullptr;  // of all devices; null until the first query of faults
  std::map<nvmlDevice_t, unsigned> followed;  // index by handle, because a lost device has no UUID

  explicit Api(Library opened) : library(std::move(opened)) {
    get(init, "nvmlInit_v2");
    get(shutdown, "nvmlShutdown");
    get(driver_version, "nvmlSystemGetDriverVersion");
    get(count, "nvmlDeviceGetCount_v2");
    get(handle, "nvmlDeviceGetHandleByIndex_v2");
    get(uuid, "nvmlDeviceGetUUID");
    get(name, "nvmlDeviceGetName");
    get(pci, "nvmlDeviceGetPciInfo_v3");
    get(memory_v1, "nvmlDeviceGetMemoryInfo");
    get(memory_v2, "nvmlDeviceGetMemoryInfo_v2");
    get(utilization, "nvmlDeviceGetUtilizationRates");
    get(processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    // Same structure and signature; drivers before 510 have only this one.
    if (processes == nullptr) get(processes, "nvmlDeviceGetComputeRunningProcesses_v2");
    get(graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3");
    if (graphics_processes == nullptr)
      get(graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v2");
    get(process_utilization, "nvmlDeviceGetProcessUtilization");
    get(memory_affinity, "nvmlDeviceGetMemoryAffinity");
    get(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
    get(p2p_status, "nvmlDeviceGetP2PStatus");
    get(link_state, "nvmlDeviceGetNvLinkState");
    get(link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    get(link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
    get(mig_mode, "nvmlDeviceGetMigMode");
    get(most_parts, "nvmlDeviceGetMaxMigDeviceCount");
    get(part_handle, "nvmlDeviceGetMigDeviceHandleByIndex");
    get(instance_id, "nvmlDeviceGetGpuInstanceId");
    get(handle_by_uuid, "nvmlDeviceGetHandleByUUID");
    get(create_events, "nvmlEventSetCreate");
    get(register_events, "nvmlDeviceRegisterEvents");
    get(supported_events, "nvmlDeviceGetSupportedEventTypes");
    get(wait_events, "nvmlEventSetWait_v2");
    get(ecc_errors, "nvmlDeviceGetTotalEccErrors");
    get(remapped_rows, "nvmlDeviceGetRemappedRows");
    get(retired_pages, "nvmlDeviceGetRetiredPagesPendingStatus");
  }

  template <typename Type>
  void get(Type*& function, const char* symbol) {
    function = library.find<Type>(symbol);
  }

  // The name of a missing entry point that every use needs; without the others it degrades.
  const char* missing() const {
    if (init == nullptr) return "nvmlInit_v2";
    if (count == nullptr) return "nvmlDeviceGetCount_v2";
    if (handle == nullptr) return "nvmlDeviceGetHandleByIndex_v2";
    if (uuid == nullptr) return "nvmlDeviceGetUUID";
    if (name == nullptr) return "nvmlDeviceGetName";
    if (memory_v1 == nullptr) return "nvmlDeviceGetMemoryInfo";
    return nullptr;
  }

  // Instances of partitioned cards when devices were last counted. Their indexes follow those of
  // all cards.
  struct Part {
    std::string uuid;
    unsigned card = 0;   // NVML's index
    unsigned place = 0;  // on the card
    unsigned id = 0;     // the driver's number on its card
  };
  unsigned cards = 0;
  std::vector<Part> parts;

  bool partitioned(nvmlDevice_t card) const {
    unsigned now = 0, then = 0;
    return mig_mode != nullptr && mig_mode(card, &now, &then) == NVML_SUCCESS &&
           now == NVML_DEVICE_MIG_ENABLE;
  }

  // An instance is found by its name, because another instance may have its place meanwhile.
  Result<nvmlDevice_t> device(unsigned index) const {
    nvmlDevice_t found = nullptr;
    const bool part = index >= cards && index - cards < parts.size();
    const nvmlReturn_t status =
        part ? handle_by_uuid(parts[index - cards].uuid.c_str(), &found) : handle(index, &found);
    if (status != NVML_SUCCESS) {
      return Error{ErrorCode::kUnavailable,
                   "device " + std::to_string(index) + ": " + detail::code(status)};
    }
    return found;
  }

  // The total of v1 includes the driver's own part; v2, if available, separates it.
  Result<nvmlMemory_v2_t> memory(nvmlDevice_t device) const {
    nvmlMemory_v2_t v2{};
    v2.version = nvmlMemory_v2;
    if (memory_v2 != nullptr && memory_v2(device, &v2) == NVML_SUCCESS) return v2;
    nvmlMemory_t v1{};
    const nvmlReturn_t status = memory_v1(device, &v1);
    if (status != NVML_SUCCESS)
      return Error{ErrorCode::kUnavailable, "memory: " + detail::code(status)};
    return nvmlMemory_v2_t{nvmlMemory_v2, v1.total, 0, v1.free, v1.used};
  }
};

}  // namespace divvy::driver
