// Sums of usage and cost over hours. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "console/prices.h"
#include "history/cost.h"
#include "history/records.h"
#include "history/usage.h"
#include "reports/usage_query.h"

namespace divvy::console {

// Billionths of a device hour: integers, so that parts add up to the whole.
using NanoHours = std::int64_t;

struct UsageAmount {
  NanoHours allocated = 0;       // the part of devices that shares are charged for (history/cost.h)
  NanoHours idle = 0;            // of it, not used
  NanoHours used = 0;            // device time; it can exceed the allocated part
  double memory_byte_hours = 0;  // promised
  std::int64_t throttled_ms = 0;
  history::MicroUnits charged = 0, used_cost = 0, idle_cost = 0;  // charged = used + idle
};

// The devices of the time, as far as they were there.
struct UsageCapacity {
  NanoHours device_hours = 0;
  NanoHours unallocated = 0;
  history::MicroUnits price = 0, unallocated_cost = 0;
};

// Sums the usage of hours by a property of shares or devices.
class UsageSums {
 public:
  // The names of shares and devices by UID; they must stay while hours are added.
  using Objects = std::map<std::string, history::ObjectRecord>;
  // Returns whether the usage of this share is a part of the sums.
  using ShareFilter = std::function<bool(const std::string& share)>;
  // A group, and the start of its step in hours since 1970 (0 for all hours together).
  using Key = std::pair<std::string, std::int64_t>;

  // The most rows: groups, each with its steps of time.
  static constexpr std::size_t kMaxRows = 50'000;

  // `filter`: null: all shares. The arguments must outlive the sums.
  UsageSums(const UsageQuery& query, const PriceTable& prices, const Objects& objects,
            ShareFilter filter)
      : query_(query), prices_(prices), objects_(objects), filter_(std::move(filter)) {}

  // Adds all devices and shares of one hour. Shares that the filter hides are charged for their
  // part of the device, and are in no sum. kUsage: there are more than kMaxRows rows.
  Result<void> addHour(std::int64_t hour, const std::vector<history::DeviceHour>& devices,
                       const std::vector<history::UsageRow>& rows);

  const std::map<Key, UsageAmount>& rows() const { return rows_; }
  const UsageAmount& total() const { return total_; }
  // Of all devices, whatever the filter hides.
  const UsageCapacity& capacity() const { return capacity_; }
  // Models without a price, while there are prices.
  const std::set<std::string>& unpricedModels() const { return unpriced_; }

 private:
  struct Present {  // a device in an hour
    std::int64_t seconds = 0, byte_seconds = 0;
    std::vector<const history::UsageRow*> shares{};
  };

  void addDevice(std::int64_t hour, const std::string& device, const Present& present);
  void addShare(std::int64_t hour, const history::UsageRow& row, const history::ShareCost& hours,
                const history::ShareCost& cost);
  std::string groupOf(const history::UsageRow& row) const;
  std::string modelOf(const std::string& device) const;
  history::MicroUnits priceOf(const std::string& device, std::int64_t hour);

  const UsageQuery query_;
  const PriceTable& prices_;
  const Objects& objects_;
  const ShareFilter filter_;
  std::map<Key, UsageAmount> rows_;
  UsageAmount total_;
  UsageCapacity capacity_;
  std::set<std::string> unpriced_;
};

}  // namespace divvy::console
