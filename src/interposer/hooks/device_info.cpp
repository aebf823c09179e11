// The application's view of its share: memory and devices.
#include "accounting/charge.h"
#include "device/visible_devices.h"
#include "threads/thread_state.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

struct Share {
  std::uint64_t free;
  std::uint64_t total;
};

// Replaces the card's figures by the share of the target.
void applySeat(ChargeTarget seat, Share* share) {
  if (seat.verdict == ChargeVerdict::kUnknownLimit) share->free = 0;
  if (seat.verdict != ChargeVerdict::kAccount) return;
  const divvy::ledger::Account& account = runtime().tenant.account();
  // Memory that pools have returned to the card since the last call is free.
  if (runtime().pools.any()) runtime().pools.settleAll(seat.device);
  share->total = account.ceiling(seat.device);
  share->free = account.free(seat.device);
}

template <typename Width>
void store(Width* out, std::uint64_t value) {
  constexpr auto kMax = static_cast<std::uint64_t>(static_cast<Width>(-1));
  if (out != nullptr) *out = static_cast<Width>(value < kMax ? value : kMax);
}

// The driver is called first and decides whether the call succeeds. It never gets the application's
// pointers, one of which may be null.
template <Cu kId, typename Width>
CUresult memoryInfo(Width* free, Width* total) {
  const DriverCallScope inside;
  if (inside.nested()) return real<kId>()(free, total);
  Width card_free = 0;
  Width card_total = 0;
  const CUresult result = real<kId>()(&card_free, &card_total);
  if (result != CUDA_SUCCESS) return result;
  Share share{card_free, card_total};
  applySeat(chargeTargetOfContext(kId), &share);
  store(free, share.free);
  store(total, share.total);
  return result;
}

template <Cu kId, typename Width>
CUresult totalMemory(Width* bytes, CUdevice device) {
  const DriverCallScope inside;
  if (inside.nested() || bytes == nullptr) return real<kId>()(bytes, device);
  Width card_total = 0;
  const CUresult result = real<kId>()(&card_total, device);
  if (result != CUDA_SUCCESS) return result;
  const ChargeTarget seat = seatOfDevice(device, kId);
  if (seat.verdict == ChargeVerdict::kForeign) return refusal(seat);
  Share share{0, card_total};
  applySeat(seat, &share);
  store(bytes, share.total);
  return result;
}

// The tenant's devices. Null: the driver's own answer applies.
const DeviceTable* tenantDevices() {
  return runtime().tenant.ready() ? runtime().devices.get() : nullptr;
}

}  // namespace

DIVVY_HOOK(cuMemGetInfo_v2)(std::size_t* free, std::size_t* total) noexcept {
  return memoryInfo<Cu::cuMemGetInfo_v2>(free, total);
}

DIVVY_HOOK(cuMemGetInfo)(unsigned int* free, unsigned int* total) noexcept {
  return memoryInfo<Cu::cuMemGetInfo>(free, total);
}

DIVVY_HOOK(cuDeviceTotalMem_v2)(std::size_t* bytes, CUdevice dev) noexcept {
  return totalMemory<Cu::cuDeviceTotalMem_v2>(bytes, dev);
}

DIVVY_HOOK(cuDeviceTotalMem)(unsigned int* bytes, CUdevice dev) noexcept {
  return totalMemory<Cu::cuDeviceTotalMem>(bytes, dev);
}

DIVVY_HOOK(cuInit)(unsigned int flags) noexcept {
  const DriverCallScope inside;
  if (inside.nested() || !runtime().tenant.ready()) return real<Cu::cuInit>()(flags);
  // The driver's path must be known and its library open before the variable is changed.
  runtime().driver.open();
  CUresult result;
  {
    const VisibleDevices scope;
    result = real<Cu::cuInit>()(flags);
  }
  if (result != CUDA_SUCCESS) return result;
  runtime().devices.get();
  runtime().tenant.account().claim();
  return result;
}

DIVVY_HOOK(cuDeviceGetCount)(int* count) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuDeviceGetCount>()(count);
  if (inside.nested() || result != CUDA_SUCCESS || count == nullptr) return result;
  if (const DeviceTable* table = tenantDevices()) *count = table->count;
  return result;
}

DIVVY_HOOK(cuDeviceGet)(CUdevice* device, int ordinal) noexcept {
  const DriverCallScope inside;
  const DeviceTable* table = inside.nested() ? nullptr : tenantDevices();
  if (table == nullptr || ordinal < 0) return real<Cu::cuDeviceGet>()(device, ordinal);
  // Beyond the tenant's devices: an ordinal that the driver has no device for.
  const int asked =
      ordinal < table->count ? table->ordinal[ordinal] : DeviceTable::kMaxDriverDevices;
  return real<Cu::cuDeviceGet>()(device, asked);
}

DIVVY_HOOK(cuDeviceGetByPCIBusId)(CUdevice* dev, const char* bus_id) noexcept {
  const DriverCallScope inside;
  const DeviceTable* table = inside.nested() ? nullptr : tenantDevices();
  if (table == nullptr || dev == nullptr) return real<Cu::cuDeviceGetByPCIBusId>()(dev, bus_id);
  CUdevice found = -1;
  const CUresult result = real<Cu::cuDeviceGetByPCIBusId>()(&found, bus_id);
  if (result != CUDA_SUCCESS) return result;
  if (table->ledgerIndex(found) == kNoDevice) return CUDA_ERROR_INVALID_DEVICE;
  *dev = found;
  return result;
}
