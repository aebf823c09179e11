// The price of a model at an instant. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "console/prices.h"

namespace divvy::console {

// Returns the model's price as PriceTable defines it. Null: it has none, or there are no prices.
const DevicePrice* priceAt(const PriceTable& prices, const std::string& model, std::int64_t ms);

}  // namespace divvy::console
