// Amounts of device memory: the one rule by which a plain number means MiB or bytes. Pure.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "base/quantity.h"
#include "base/result.h"

namespace divvy {

// Upper limit on the memory of one device, beyond that of known devices.
inline constexpr Bytes kMaxDeviceMemory = gib(1024);

// Returns the bytes that `amount` requests of a resource that counts in `unit` (HAMi: MiB). `max`
// is the memory of the largest device:
// - With a binary suffix (16Gi): bytes.
// - A number of units that is at most `max`: units. 16k too: API servers write 16000 so.
// - Above, multiples of a million are bytes: 800M, 2G. API servers write 800000000 as 800M.
// - Any other number above is refused: 1073741824. So are multiples of a million below 100M, which
//   API servers make of a number like 9000000: no share is so small.
// kUsage: a refused number, with both readings in the message; a fraction; a negative number. The
// caller puts the name of the resource in front of the message.
Result<Bytes> deviceMemory(const Quantity& amount, Bytes unit, Bytes max = kMaxDeviceMemory);

// Parses an amount from a command line or an annotation. A plain number follows the rule above in
// MiB, any other text follows parseBytes(). kUsage as there.
Result<Bytes> parseDeviceMemory(std::string_view text);

}  // namespace divvy
