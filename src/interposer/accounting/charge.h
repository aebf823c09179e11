// Admission of one allocation: the charge target and the reservation itself.
#pragma once

#include <cstdint>

#include "accounting/resident_charge.h"
#include "ledger/refusal.h"
#include "runtime.h"

namespace divvy::interposer {

enum class ChargeVerdict : std::uint8_t {
  kAccount,       // charge ledger device `device`
  kPass,          // not to be counted: no tenant, or the driver will refuse the call itself
  kUnknownLimit,  // the tenant's pages are unusable: memory is refused, all else is allowed
  kForeign,       // not a device of the tenant: does not exist
};

struct ChargeTarget {
  ChargeVerdict verdict;
  unsigned device;  // ledger index, for kAccount
};

// The key under which a block is recorded.
inline std::uint64_t blockKey(CUdeviceptr address) {
  return address;
}
inline std::uint64_t blockKey(CUdeviceptr_v1 address) {
  return address;
}
inline std::uint64_t blockKey(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// Returns the charge target of memory that is allocated in the calling thread's current context.
// Calls the driver only if the tenant has several devices.
ChargeTarget chargeTargetOfContext(abi::Cu site);

// Returns the charge target of memory on a device that the call itself names.
ChargeTarget seatOfDevice(CUdevice device, abi::Cu site);

// Returns whether this tenant's allocations on that device can be swapped from now on.
inline bool swapsOn(ChargeTarget seat) {
  return seat.verdict == ChargeVerdict::kAccount &&
         __builtin_expect(ledger::loadRelaxed(
                              runtime().tenant.control().devices[seat.device].swap.swappable) != 0,
                          0);
}

// Returns the bytes that the driver takes from the device: `bytes` rounded up to the device's
// granule, saturating.
std::uint64_t roundToGranule(unsigned device, std::uint64_t bytes);

// reserveShare() reserves `bytes`. If the share is used up, reserveAfterReclaim() tries again.
// First it collects pending frees, then unused memory of this process's pools and graphs. The
// driver does the same when the device is full.
bool reserveAfterReclaim(unsigned device, std::uint64_t bytes);
inline bool reserveShare(unsigned device, std::uint64_t bytes) {
  const ledger::Admission admission = runtime().tenant.account().reserve(device, bytes);
  if (__builtin_expect(admission == ledger::Admission::kGranted, 1)) return true;
  return admission == ledger::Admission::kOverLimit && reserveAfterReclaim(device, bytes);
}
// As reserveShare(), for any memory. Memory that cannot be swapped also waits for room on the
// device.
inline bool reserveOrReclaim(unsigned device, std::uint64_t bytes) {
  if (swapsOn({ChargeVerdict::kAccount, device})) return reserveInRoom(device, bytes);
  return reserveShare(device, bytes);
}

enum class Kind : std::uint8_t {
  kNative,
  kSwappable,
  kSpare,  // swappable, and only if no memory has to be given back for it
};

// A reservation of `bytes` on a ledger device, given back at the end of the scope unless kept.
class Charge {
 public:
  Charge(unsigned device, std::uint64_t bytes, Kind kind = Kind::kNative)
      : device_(device), bytes_(bytes), granted_(reserve(device, bytes, kind)) {}
  ~Charge() {
    if (granted_) runtime().tenant.account().release(device_, bytes_);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  bool granted() const { return granted_; }
  std::uint64_t bytes() const { return bytes_; }
  // Changes the reservation to `bytes`. Returns false, without effect, if there is no room.
  bool resize(std::uint64_t bytes) {
    if (bytes > bytes_ && !reserveOrReclaim(device_, bytes - bytes_)) return false;
    if (bytes < bytes_) runtime().tenant.account().release(device_, bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  // Leaves the bytes reserved; a recorded block owns them from here on.
  void keep() { granted_ = false; }

 private:
  static bool reserve(unsigned device, std::uint64_t bytes, Kind kind) {
    if (kind == Kind::kNative) return reserveOrReclaim(device, bytes);
    if (kind == Kind::kSwappable) return reserveShare(device, bytes);
    return runtime().tenant.account().reserve(device, bytes) == ledger::Admission::kGranted;
  }

  unsigned device_;
  std::uint64_t bytes_;
  bool granted_;
};

// Ends the charge of a block that was freed.
void giveBack(const Block& block);

// Why the library itself refuses memory.
enum class RefusalCause : std::uint8_t {
  kOverLimit,
  kDeviceFull,      // within the limit
  kNotAccountable,  // it cannot be counted
};

// Returns out of memory by the library's own decision, and counts the refused request of `bytes`.
CUresult refuse(RefusalCause cause, std::uint64_t bytes);
inline CUresult refuseOverLimit(std::uint64_t bytes) {
  return refuse(RefusalCause::kOverLimit, bytes);
}

// Returns `result`. Counts a request of `bytes` within the limit that the driver had no memory for.
inline CUresult countIfDeviceFull(CUresult result, std::uint64_t bytes) {
  if (__builtin_expect(result == CUDA_ERROR_OUT_OF_MEMORY, 0))
    ledger::noteDeviceFull(runtime().tenant.account(), bytes);
  return result;
}

// Returns the answer to an allocation that is neither accounted nor passed on.
inline CUresult refusal(ChargeTarget seat) {
  return seat.verdict == ChargeVerdict::kForeign ? CUDA_ERROR_INVALID_DEVICE
                                                 : refuse(RefusalCause::kNotAccountable, 0);
}

}  // namespace divvy::interposer
