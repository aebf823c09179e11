// The cost of shares of a device. Integers only: the parts add up to the price exactly. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace divvy::history {

// Thousandths of thousandths of a currency unit.
using MicroUnits = std::int64_t;

// Returns the price of a part of an hour, rounded to the nearest. `per_hour` is 0 to 10^15,
// `seconds` 0 to 3600; other values are cut to that.
MicroUnits priceOf(MicroUnits per_hour, std::int64_t seconds);

// The promise and use of one share of a device in an hour (usage.h has the units). Negative
// amounts count as 0.
struct ShareOfDevice {
  std::int64_t promised_byte_seconds = 0;
  std::int64_t promised_compute_milli_seconds = 0;
  std::int64_t device_ns = 0;
};

// A device in an hour.
struct CostedDevice {
  MicroUnits price = 0;           // of the time that it was there: 0 to 10^15, else it is cut
  std::int64_t seconds = 0;       // that it was there
  std::int64_t byte_seconds = 0;  // its memory over that time
};

// The cost of one share. charged = used + idle.
struct ShareCost {
  MicroUnits charged = 0;
  MicroUnits used = 0;  // device time at the device's price, at most `charged`
  MicroUnits idle = 0;  // promised, and not used
};

struct DeviceCost {
  std::vector<ShareCost> shares;  // in the order of the input
  MicroUnits unallocated = 0;     // the part that no share was promised
  // The sum of the shares' parts in thousandths of the device, before they are scaled. Above 1000:
  // more was promised than the device has, and all shares were scaled by 1000 / promised_milli.
  std::int64_t promised_milli = 0;
};

// Divides the device's price. A share's part is the larger one of its memory and its compute, each
// as a part of the device over the hour. Parts that add up to more than the device are scaled to
// it. The sum of `charged` and `unallocated` is the price, exactly; a micro-unit that does not
// divide goes to the shares with the largest remainders, the earlier one first.
// A device of 0 seconds charges nothing: its price is unallocated.
DeviceCost divideCost(const CostedDevice& device, const std::vector<ShareOfDevice>& shares);

}  // namespace divvy::history
