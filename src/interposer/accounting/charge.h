// Admission of one allocation: who is charged, and the reservation itself.
#pragma once

#include <cstdint>

#include "accounting/resident_charge.h"
#include "runtime.h"

namespace divvy::interposer {

enum class ChargeVerdict : std::uint8_t {
  kAccount,       // charge ledger device `device`
  kPass,          // not ours to count: no tenant, or the driver is going to refuse the call itself
  kUnknownLimit,  // the tenant's pages cannot be used: no memory, but everything else
  kForeign,       // a device that is not the tenant's: does not exist
};

struct ChargeTarget {
  ChargeVerdict verdict;
  unsigned device;  // ledger index, for kAccount
};

// What a block is remembered by.
inline std::uint64_t blockKey(CUdeviceptr address) {
  return address;
}
inline std::uint64_t blockKey(CUdeviceptr_v1 address) {
  return address;
}
inline std::uint64_t blockKey(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// Who pays for memory that is allocated in the calling thread's current context. Asks the driver
// only where the tenant has several devices.
ChargeTarget chargeTargetOfContext(abi::Cu site);

// Who pays for memory on a device that the call itself names.
ChargeTarget seatOfDevice(CUdevice device, abi::Cu site);

// Allocations of this tenant there can be swapped, from now on.
inline bool swapsOn(ChargeTarget seat) {
  return seat.verdict == ChargeVerdict::kAccount &&
         __builtin_expect(ledger::loadRelaxed(
                              runtime().tenant.control().devices[seat.device].swap.swappable) != 0,
                          0);
}

// `bytes` as the driver takes them from the card: rounded up to the device's granule, saturating.
std::uint64_t roundToGranule(unsigned device, std::uint64_t bytes);

// Reserves; when the share is used up, once more after what is being freed was given back, and
// after taking back what pools and graphs of this process hold unused (the driver does the same
// when the card is full).
bool reserveAfterReclaim(unsigned device, std::uint64_t bytes);
inline bool reserveShare(unsigned device, std::uint64_t bytes) {
  const ledger::Admission admission = runtime().tenant.account().reserve(device, bytes);
  if (__builtin_expect(admission == ledger::Admission::kGranted, 1)) return true;
  return admission == ledger::Admission::kOverLimit && reserveAfterReclaim(device, bytes);
}
// The same for memory that cannot be swapped: beside what can, it needs room on the device.
inline bool reserveOrReclaim(unsigned device, std::uint64_t bytes) {
  if (swapsOn({ChargeVerdict::kAccount, device})) return reserveInRoom(device, bytes);
  return reserveShare(device, bytes);
}

enum class Kind : std::uint8_t {
  kNative,
  kSwappable,
  kSpare,  // swappable, if it is there without anybody giving back anything
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
  // Makes it a reservation of `bytes`. False, and nothing changed, if they are not to be had.
  bool resize(std::uint64_t bytes) {
    if (bytes > bytes_ && !reserveOrReclaim(device_, bytes - bytes_)) return false;
    if (bytes < bytes_) runtime().tenant.account().release(device_, bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  // From here on the bytes belong to a block that somebody remembers.
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

// Ends the charge of a block that is gone.
void giveBack(const Block& block);

// Out of memory by our own decision, counted.
CUresult refuse();

// What an allocation is answered that is neither accounted nor passed on.
inline CUresult refusal(ChargeTarget seat) {
  return seat.verdict == ChargeVerdict::kForeign ? CUDA_ERROR_INVALID_DEVICE : refuse();
}

}  // namespace divvy::interposer
