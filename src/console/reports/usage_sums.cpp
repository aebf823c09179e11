#include "reports/usage_sums.h"

#include <algorithm>
#include <iterator>

#include "reports/price_lookup.h"

namespace divvy::console {
namespace {

using history::MicroUnits;

constexpr NanoHours kNanoHour = 1'000'000'000;
constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kHoursOfDay = 24;
// Nanoseconds of device time in a billionth of an hour.
constexpr std::int64_t kNsPerNanoHour = 3600;
constexpr double kSecondsPerHour = 3600;

void add(UsageAmount& sum, const UsageAmount& more) {
  sum.allocated += more.allocated;
  sum.idle += more.idle;
  sum.used += more.used;
  sum.memory_byte_hours += more.memory_byte_hours;
  sum.throttled_ms += more.throttled_ms;
  sum.charged += more.charged;
  sum.used_cost += more.used_cost;
  sum.idle_cost += more.idle_cost;
}

}  // namespace

std::string UsageSums::modelOf(const std::string& device) const {
  const auto known = objects_.find(device);
  return known == objects_.end() ? std::string() : known->second.model;
}

std::string UsageSums::groupOf(const history::UsageRow& row) const {
  if (query_.by == UsageGroup::kShare) return row.key.share;
  if (query_.by == UsageGroup::kDevice) return row.key.device;
  if (query_.by == UsageGroup::kModel) return modelOf(row.key.device);
  const auto known = objects_.find(row.key.share);
  if (known == objects_.end()) return "";
  const history::ObjectRecord& share = known->second;
  switch (query_.by) {
    case UsageGroup::kNamespace:
      return share.namespace_name;
    case UsageGroup::kTeam:
      return share.team;
    case UsageGroup::kQueue:
      return share.queue;
    default:
      // A workload's name counts within its namespace.
      return share.owner.empty() ? share.owner : share.namespace_name + '/' + share.owner;
  }
}

MicroUnits UsageSums::priceOf(const std::string& device, std::int64_t hour) {
  if (prices_.currency.empty()) return 0;
  const std::string model = modelOf(device);
  const DevicePrice* best = priceAt(prices_, model, hour * kHourMs);
  if (best == nullptr) unpriced_.insert(model);
  return best == nullptr ? 0 : best->per_hour_micro;
}

void UsageSums::addShare(std::int64_t hour, const history::UsageRow& row,
                         const history::ShareCost& hours, const history::ShareCost& cost) {
  if (filter_ != nullptr && !filter_(row.key.share)) return;
  UsageAmount amount;
  amount.allocated = hours.charged;
  amount.idle = hours.idle;
  amount.used = row.amounts.device_ns / kNsPerNanoHour;
  amount.memory_byte_hours =
      static_cast<double>(row.amounts.promised_byte_seconds) / kSecondsPerHour;
  amount.throttled_ms = row.amounts.throttled_ms;
  amount.charged = cost.charged;
  amount.used_cost = cost.used;
  amount.idle_cost = cost.idle;
  const std::int64_t start = query_.step == UsageStep::kAll   ? 0
                             : query_.step == UsageStep::kDay ? hour - hour % kHoursOfDay
                                                              : hour;
  add(rows_[{groupOf(row), start}], amount);
  add(total_, amount);
}

void UsageSums::addDevice(std::int64_t hour, const std::string& device, const Present& present) {
  std::vector<history::ShareOfDevice> shares;
  for (const history::UsageRow* row : present.shares)
    shares.push_back({row->amounts.promised_byte_seconds,
                      row->amounts.promised_compute_milli_seconds, row->amounts.device_ns});
  const auto divide = [&](std::int64_t per_hour) {
    return history::divideCost(
        {history::priceOf(per_hour, present.seconds), present.seconds, present.byte_seconds},
        shares);
  };
  const MicroUnits per_hour = priceOf(device, hour);
  const history::DeviceCost hours = divide(kNanoHour), cost = divide(per_hour);
  for (std::size_t at = 0; at < shares.size(); ++at)
    addShare(hour, *present.shares[at], hours.shares[at], cost.shares[at]);
  capacity_.device_hours += history::priceOf(kNanoHour, present.seconds);
  capacity_.unallocated += hours.unallocated;
  capacity_.price += history::priceOf(per_hour, present.seconds);
  capacity_.unallocated_cost += cost.unallocated;
}

Result<void> UsageSums::addHour(std::int64_t hour, const std::vector<history::DeviceHour>& devices,
                                const std::vector<history::UsageRow>& rows) {
  std::map<std::string, Present> all;
  for (const history::DeviceHour& one : devices) {
    Present& present = all[one.key.device];
    present.seconds += one.seconds;
    present.byte_seconds += one.byte_seconds;
  }
  for (const history::UsageRow& row : rows) all[row.key.device].shares.push_back(&row);
  for (const auto& [device, present] : all) addDevice(hour, device, present);
  if (rows_.size() <= kMaxRows) return {};
  return Error{ErrorCode::kUsage, "the answer has more than " + std::to_string(kMaxRows) +
                                      " rows; accepted is a shorter time, a longer step, or a sum "
                                      "by another property"};
}

}  // namespace divvy::console
