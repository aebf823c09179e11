// How cards are connected.
#include <algorithm>

#include "nvml_machine.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kMaxLinks = 18;  // NVML_NVLINK_MAX_LINKS

bool linked(const NvmlCard& a, const NvmlCard& b) {
  return a.profile().nvlinks > 0 && b.profile().nvlinks > 0;
}

template <typename Body>
nvmlReturn_t withTwo(nvmlDevice_t first, nvmlDevice_t second, Body&& body) {
  return withCard(first, [&](NvmlCard& a) {
    return withCard(second, [&](NvmlCard& b) { return body(a, b); });
  });
}

}  // namespace

SIMGPU_IMPL(nvmlDeviceGetTopologyCommonAncestor)
(nvmlDevice_t first, nvmlDevice_t second, nvmlGpuTopologyLevel_t* level) {
  return withTwo(first, second, [&](NvmlCard& a, NvmlCard& b) {
    if (level == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    // Cards of one host sit four to a CPU socket.
    const bool same_socket = a.index() / 4 == b.index() / 4;
    *level = &a == &b      ? NVML_TOPOLOGY_INTERNAL
             : same_socket ? NVML_TOPOLOGY_NODE
                           : NVML_TOPOLOGY_SYSTEM;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetTopologyNearestGpus)
(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int* count, nvmlDevice_t* devices) {
  return withCard(device, [&](NvmlCard& card) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned room = devices == nullptr ? 0 : *count;
    unsigned found = 0;
    for (const auto& other : NvmlMachine::get().cards()) {
      if (other.get() == &card) continue;
      nvmlGpuTopologyLevel_t between{};
      sim_nvmlDeviceGetTopologyCommonAncestor(device, other->handle(), &between);
      if (between > level) continue;
      if (found < room) devices[found] = other->handle();
      ++found;
    }
    *count = devices == nullptr ? found : std::min(found, room);
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetP2PStatus)
(nvmlDevice_t first, nvmlDevice_t second, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t* status) {
  return withTwo(first, second, [&](NvmlCard& a, NvmlCard& b) {
    if (status == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const bool nvlink_only = index == NVML_P2P_CAPS_INDEX_NVLINK;
    const bool consumer = !a.profile().ecc || !b.profile().ecc;
    if (nvlink_only) {
      *status = linked(a, b) ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    } else {
      *status = consumer ? NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED : NVML_P2P_STATUS_OK;
    }
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetNvLinkState)
(nvmlDevice_t device, unsigned int link, nvmlEnableState_t* active) {
  return withCard(device, [&](NvmlCard& card) {
    if (active == nullptr || link >= kMaxLinks) return NVML_ERROR_INVALID_ARGUMENT;
    if (card.profile().nvlinks == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (link >= static_cast<unsigned>(card.profile().nvlinks)) return NVML_ERROR_INVALID_ARGUMENT;
    *active = NvmlMachine::get().cards().size() > 1 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetNvLinkVersion)
(nvmlDevice_t device, unsigned int link, unsigned int* version) {
  return withCard(device, [&](NvmlCard& card) {
    if (version == nullptr || link >= kMaxLinks) return NVML_ERROR_INVALID_ARGUMENT;
    if (card.profile().nvlinks == 0) return NVML_ERROR_NOT_SUPPORTED;
    *version = static_cast<unsigned>(card.profile().nvlink_version);
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetMaxPcieLinkGeneration)(nvmlDevice_t device, unsigned int* generation) {
  return answer(device, generation, [](NvmlCard& card) { return card.profile().pcie_generation; });
}
SIMGPU_IMPL(nvmlDeviceGetCurrPcieLinkGeneration)(nvmlDevice_t device, unsigned int* generation) {
  return sim_nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}
SIMGPU_IMPL(nvmlDeviceGetMaxPcieLinkWidth)(nvmlDevice_t device, unsigned int* width) {
  return answer(device, width, [](NvmlCard&) { return 16; });
}
SIMGPU_IMPL(nvmlDeviceGetCurrPcieLinkWidth)(nvmlDevice_t device, unsigned int* width) {
  return sim_nvmlDeviceGetMaxPcieLinkWidth(device, width);
}

}  // namespace divvy::simgpu
