#include "reports/price_lookup.h"

#include "base/model_name.h"

namespace divvy::console {

const DevicePrice* priceAt(const PriceTable& prices, const std::string& model, std::int64_t ms) {
  if (prices.currency.empty()) return nullptr;
  const DevicePrice* best = nullptr;
  for (const DevicePrice& one : prices.prices) {
    const bool valid = one.from_ms <= ms && namesModel(one.model, model);
    if (valid && (best == nullptr || one.from_ms > best->from_ms)) best = &one;
  }
  return best;
}

}  // namespace divvy::console
