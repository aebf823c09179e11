// The file of `divvy console --prices`: prices of devices.
#pragma once

#include <string>

#include "base/result.h"
#include "console/prices.h"

namespace divvy::cli {

// Reads prices from YAML or JSON text. `source` is the file's name in messages. kUsage: the place,
// its state, and what is accepted.
//   currency: EUR
//   prices:
//   - {model: H100, perHour: 2.90}
//   - {model: RTX 4090, perHour: 0.35, from: 2026-07-01}
Result<console::PriceTable> parsePrices(const std::string& text, const std::string& source);

// Reads the file; an empty name is no prices. kUsage, kIo, kNotFound: messages begin with the
// option.
Result<console::PriceTable> readPriceFile(const std::string& file);

}  // namespace divvy::cli
