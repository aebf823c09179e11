// The amount of memory: the share, not the card.
#include "nvml/nvml_table.h"
#include "nvml/tenant.h"

using namespace divvy::interposer;

namespace {

constexpr unsigned kMebibyteShift = 20;

// The source of the answer after a successful driver call.
enum class Story { kDriver, kTenant, kForeign };

Story storyOf(NvmlTenant& tenant, nvmlDevice_t device, const Unit** unit) {
  *unit = tenant.view().find(device);
  if (*unit != nullptr) return Story::kTenant;
  // If the tenant has the whole card, the driver's answer for an instance on it stands.
  return tenant.view().holds(device) ? Story::kDriver : Story::kForeign;
}

}  // namespace

DIVVY_HOOK(nvmlDeviceGetMemoryInfo)(nvmlDevice_t device, nvmlMemory_t* memory) noexcept {
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || memory == nullptr) {
    return driver<Nv::nvmlDeviceGetMemoryInfo>(device, memory);
  }
  nvmlMemory_t card{};
  const nvmlReturn_t result = driver<Nv::nvmlDeviceGetMemoryInfo>(device, &card);
  if (result != NVML_SUCCESS) return result;
  const Unit* unit;
  switch (storyOf(*tenant, device, &unit)) {
    case Story::kForeign:
      return NVML_ERROR_INVALID_ARGUMENT;
    case Story::kDriver:
      *memory = card;
      return result;
    case Story::kTenant:
      break;
  }
  // In this version memory that no allocation can get counts as used.
  const UnitShare share = tenant->share(*unit);
  memory->total = share.total;
  memory->free = share.free;
  memory->used = share.total - share.free;
  return result;
}

DIVVY_HOOK(nvmlDeviceGetMemoryInfo_v2)(nvmlDevice_t device, nvmlMemory_v2_t* memory) noexcept {
  NvmlTenant* tenant = viewerFor(caller());
  if (tenant == nullptr || memory == nullptr || memory->version != nvmlMemory_v2) {
    if (tenant != nullptr && memory != nullptr) {
      tenant->passedUnknown(Nv::nvmlDeviceGetMemoryInfo_v2, memory->version);
    }
    return driver<Nv::nvmlDeviceGetMemoryInfo_v2>(device, memory);
  }
  nvmlMemory_v2_t card{};
  card.version = memory->version;
  const nvmlReturn_t result = driver<Nv::nvmlDeviceGetMemoryInfo_v2>(device, &card);
  if (result != NVML_SUCCESS) return result;
  const Unit* unit;
  switch (storyOf(*tenant, device, &unit)) {
    case Story::kForeign:
      return NVML_ERROR_INVALID_ARGUMENT;
    case Story::kDriver:
      *memory = card;
      return result;
    case Story::kTenant:
      break;
  }
  // The figures are of different instants; the later one is adjusted, so that they add up to the
  // total.
  const UnitShare share = tenant->share(*unit);
  const std::uint64_t rest = share.total - share.free;
  const std::uint64_t used = tenant->used(*unit);
  memory->total = share.total;
  memory->free = share.free;
  memory->used = used < rest ? used : rest;
  memory->reserved = rest - memory->used;
  return result;
}

namespace {

// Only MIG instances have attributes; their memory is reduced to the share.
template <Nv kId>
nvmlReturn_t attributes(NvmlTenant* tenant, nvmlDevice_t device,
                        nvmlDeviceAttributes_t* attributes) {
  const nvmlReturn_t result = driver<kId>(device, attributes);
  if (result != NVML_SUCCESS || attributes == nullptr) return result;
  const Unit* unit = tenant == nullptr ? nullptr : tenant->view().find(device);
  if (unit != nullptr) attributes->memorySizeMB = tenant->share(*unit).total >> kMebibyteShift;
  return result;
}

}  // namespace

DIVVY_HOOK(nvmlDeviceGetAttributes)
(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) noexcept {
  return ::attributes<Nv::nvmlDeviceGetAttributes>(viewerFor(caller()), device, attributes);
}

DIVVY_HOOK(nvmlDeviceGetAttributes_v2)
(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) noexcept {
  return ::attributes<Nv::nvmlDeviceGetAttributes_v2>(viewerFor(caller()), device, attributes);
}
