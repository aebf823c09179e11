// Amounts of device memory: the one rule by which a number is MiB or bytes.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "base/quantity.h"
#include "base/result.h"

namespace divvy {

// More than one device has, for a while.
inline constexpr Bytes kMaxDeviceMemory = gib(1024);

// Returns the bytes that `amount` asks for, of a resource that counts in `unit` (HAMi: MiB), where
// nothing has more than `max`:
// - With a binary suffix (16Gi): bytes.
// - A number of units that is at most `max`: units. 16k too: API servers write 16000 so.
// - Above, multiples of a million are bytes: 800M, 2G. API servers write 800000000 as 800M.
// - Any other number above is refused with both readings: 1073741824. So are multiples of a million
//   below 100M, which API servers make of a number like 9000000: no share is so small.
// kUsage: that, a fraction, a negative number; without the name of the resource.
Result<Bytes> deviceMemory(const Quantity& amount, Bytes unit, Bytes max = kMaxDeviceMemory);

// Likewise from what users write at a command line or in an annotation: a plain number by the rule
// above in MiB, anything else as parseBytes() has it.
Result<Bytes> parseDeviceMemory(std::string_view text);

}  // namespace divvy
