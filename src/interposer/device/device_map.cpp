#include "device/device_map.h"

#include <strings.h>

#include "loader/driver_table.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/internal_thread.h"
#include "threads/thread_state.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr size_t kUuidLength = 36;

// The ledger's index of the device with this UUID, "GPU-" and "MIG-" forms alike.
unsigned findByUuid(const char* uuid36) {
  Tenant& tenant = runtime().tenant;
  for (unsigned i = 0; i < tenant.deviceCount(); ++i) {
    const char* uuid = tenant.control().devices[i].uuid;
    if (::strncasecmp(uuid + 4, uuid36, kUuidLength) == 0 && uuid[4 + kUuidLength] == '\0') {
      return i;
    }
  }
  return kNoDevice;
}

unsigned ledgerIndexOf(CUdevice device) {
  CUuuid uuid;
  char text[kUuidLength];
  // _v2 gives a MIG device's own UUID; drivers before 11.4 have only the other.
  if (runtime().driver.has(Cu::cuDeviceGetUuid_v2) &&
      real<Cu::cuDeviceGetUuid_v2>()(&uuid, device) == CUDA_SUCCESS) {
    formatUuid(uuid, text);
    const unsigned index = findByUuid(text);
    if (index != kNoDevice) return index;
  }
  if (real<Cu::cuDeviceGetUuid>()(&uuid, device) != CUDA_SUCCESS) return kNoDevice;
  formatUuid(uuid, text);
  return findByUuid(text);
}

}  // namespace

void formatUuid(const CUuuid& uuid, char* out36) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *out36++ = '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    *out36++ = kDigits[byte >> 4];
    *out36++ = kDigits[byte & 15];
  }
}

// Concurrent threads make the same table; one of them publishes it.
const DeviceTable* DeviceMap::build() {
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  int driver_count = 0;
  if (real<Cu::cuDeviceGetCount>()(&driver_count) != CUDA_SUCCESS) return nullptr;
  auto* table = static_cast<DeviceTable*>(sys::mapAnonymous(sizeof(DeviceTable)));
  if (table == nullptr) return nullptr;
  table->only = kNoDevice;
  for (auto& index : table->ledger_index) index = kNoDevice;
  for (int i = 0; i < driver_count && table->count < DeviceTable::kMaxDriverDevices; ++i) {
    CUdevice device = -1;
    if (real<Cu::cuDeviceGet>()(&device, i) != CUDA_SUCCESS || device < 0 ||
        device >= DeviceTable::kMaxDriverDevices) {
      continue;
    }
    const unsigned index = ledgerIndexOf(device);
    if (index == kNoDevice) continue;
    table->ledger_index[device] = static_cast<std::uint8_t>(index);
    table->ordinal[table->count++] = i;
    table->only = table->count == 1 || table->only == index ? index : kNoDevice;
  }
  watchForks();
  watchContextsAtExit();
  const DeviceTable* expected = nullptr;
  if (table_.compare_exchange_strong(expected, table, std::memory_order_acq_rel)) return table;
  sys::unmap(table, sizeof(DeviceTable));
  return expected;
}

}  // namespace divvy::interposer
