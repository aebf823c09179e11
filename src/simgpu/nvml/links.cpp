// How cards are connected.
#include <algorithm>
#include <cstdio>

#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

// The bus of a machine's switches, above the buses of cards.
constexpr unsigned kSwitchBus = 0xc4;

bool linked(const NvmlCard& a, const NvmlCard& b) {
  return NvmlMachine::get().topology().linked(a.parentIndex(), b.parentIndex());
}

LinkEnd endOf(const NvmlCard& card, unsigned link) {
  return NvmlMachine::get().topology().endOf(card.parentIndex(), static_cast<int>(link));
}

int linkCount(const NvmlCard& card) {
  return NvmlMachine::get().topology().linkCount(card.parentIndex());
}

// NVML's error for links that a card does not have.
nvmlReturn_t hasLink(const NvmlCard& card, unsigned link) {
  const int count = linkCount(card);
  if (count == 0) return NVML_ERROR_NOT_SUPPORTED;
  return link < static_cast<unsigned>(count) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
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
    const CardTopology& topology = NvmlMachine::get().topology();
    const bool one_switch = topology.onOneSwitch(a.parentIndex(), b.parentIndex());
    const bool same_socket =
        topology.numaNodeOf(a.parentIndex()) == topology.numaNodeOf(b.parentIndex());
    *level = a.parentIndex() == b.parentIndex() ? NVML_TOPOLOGY_INTERNAL
             : one_switch                       ? NVML_TOPOLOGY_SINGLE
             : same_socket                      ? NVML_TOPOLOGY_NODE
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
    if (a.whole() != nullptr || b.whole() != nullptr) {
      *status = NVML_P2P_STATUS_NOT_SUPPORTED;
      return NVML_SUCCESS;
    }
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
    if (const nvmlReturn_t has = hasLink(card, link); has != NVML_SUCCESS) return has;
    const bool nowhere = endOf(card, link).kind == LinkEnd::Kind::kNowhere;
    *active = nowhere ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetNvLinkCapability)
(nvmlDevice_t device, unsigned int link, nvmlNvLinkCapability_t capability, unsigned int* result) {
  return withCard(device, [&](NvmlCard& card) {
    if (linkCount(card) == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (result == nullptr || hasLink(card, link) != NVML_SUCCESS)
      return NVML_ERROR_INVALID_ARGUMENT;
    const bool has = capability == NVML_NVLINK_CAP_P2P_SUPPORTED ||
                     capability == NVML_NVLINK_CAP_P2P_ATOMICS ||
                     capability == NVML_NVLINK_CAP_VALID;
    *result = has && endOf(card, link).kind != LinkEnd::Kind::kNowhere ? 1 : 0;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetNvLinkRemoteDeviceType)
(nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t* type) {
  return withCard(device, [&](NvmlCard& card) {
    if (type == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (hasLink(card, link) != NVML_SUCCESS) return NVML_ERROR_NOT_SUPPORTED;
    const LinkEnd end = endOf(card, link);
    if (end.kind == LinkEnd::Kind::kNowhere) return NVML_ERROR_NOT_SUPPORTED;
    *type = end.kind == LinkEnd::Kind::kSwitch ? NVML_NVLINK_DEVICE_TYPE_SWITCH
                                               : NVML_NVLINK_DEVICE_TYPE_GPU;
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetNvLinkRemotePciInfo_v2)
(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t* pci) {
  return withCard(device, [&](NvmlCard& card) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (const nvmlReturn_t has = hasLink(card, link); has != NVML_SUCCESS) return has;
    const LinkEnd end = endOf(card, link);
    if (end.kind == LinkEnd::Kind::kNowhere) return NVML_ERROR_NOT_SUPPORTED;
    if (end.kind == LinkEnd::Kind::kCard) {
      const auto& other = NvmlMachine::get().cards()[static_cast<std::size_t>(end.card)];
      return sim_nvmlDeviceGetPciInfo_v3(other->handle(), pci);
    }
    *pci = {};
    pci->bus = kSwitchBus;
    std::snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "0000:%02X:00.0", kSwitchBus);
    std::snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0", kSwitchBus);
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlDeviceGetNvLinkVersion)
(nvmlDevice_t device, unsigned int link, unsigned int* version) {
  return withCard(device, [&](NvmlCard& card) {
    if (version == nullptr || link >= kMaxLinks) return NVML_ERROR_INVALID_ARGUMENT;
    if (linkCount(card) == 0) return NVML_ERROR_NOT_SUPPORTED;
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
