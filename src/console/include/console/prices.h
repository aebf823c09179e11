// Prices of devices, for the cost of shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace divvy::console {

struct DevicePrice {
  std::string model;                // a pattern of namesModel() (base/model_name.h)
  std::int64_t per_hour_micro = 0;  // of one device, in millionths of the currency; 0 to kMaxPrice
  std::int64_t from_ms = 0;         // valid from this instant on, in ms since 1970
};
// 10,000 an hour: sums over a large cluster and 400 days fit 64 bits.
inline constexpr std::int64_t kMaxPrice = 10'000'000'000;

// A model has the price with the latest from_ms among the valid ones with a pattern that names it;
// of equal ones the first.
struct PriceTable {
  std::string currency;  // a code of ISO 4217 as "EUR"; empty: there are no prices
  std::vector<DevicePrice> prices;
};

}  // namespace divvy::console
