#include "reports/usage_report.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <tuple>

#include <boost/json.hpp>

#include "reports/csv.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr double kNanoHour = 1e9;
constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::chrono::seconds kLongestRead{20};

double hoursOf(NanoHours hours) {
  return static_cast<double>(hours) / kNanoHour;
}

template <typename Value>
bj::value knownOr(bool known, const Value& value) {
  return known ? bj::value(value) : bj::value(nullptr);
}

// The rows of one hour.
struct Hour {
  std::vector<history::DeviceHour> devices;
  std::vector<history::UsageRow> shares;
};

Result<Hour> readHour(const history::Store& store, std::int64_t hour) {
  Hour read;
  Result<void> done = store.devices(hour, hour + 1, [&](const history::DeviceHour& one) {
    read.devices.push_back(one);
    return true;
  });
  if (done)
    done = store.usage(hour, hour + 1, [&](const history::UsageRow& one) {
      read.shares.push_back(one);
      return true;
    });
  if (!done) return done.error();
  return read;
}

// Adds the records of the hour's devices and shares. An object without a record gets an empty one,
// so that it is looked up once.
Result<void> lookUp(const history::Store& store, const Hour& hour, UsageSums::Objects& objects) {
  std::vector<std::string> missing;
  const auto want = [&](const std::string& uid) {
    if (objects.try_emplace(uid).second) missing.push_back(uid);
  };
  for (const history::DeviceHour& one : hour.devices) want(one.key.device);
  for (const history::UsageRow& one : hour.shares) {
    want(one.key.device);
    want(one.key.share);
  }
  if (missing.empty()) return {};
  Result<std::vector<history::ObjectRecord>> found = store.objects(missing);
  if (!found) return found.error();
  for (history::ObjectRecord& one : *found) objects[one.uid] = std::move(one);
  return {};
}

}  // namespace

Result<UsageReport> UsageReport::read(const history::Store& store, const UsageQuery& query,
                                      const PriceTable& prices, UsageSums::ShareFilter filter) {
  UsageSums::Objects objects;
  UsageSums sums(query, prices, objects, std::move(filter));
  const auto until = std::chrono::steady_clock::now() + kLongestRead;
  for (std::int64_t hour = query.from_hour; hour < query.to_hour; ++hour) {
    const Result<Hour> read = readHour(store, hour);
    if (!read) return read.error();
    Result<void> done = lookUp(store, *read, objects);
    if (done) done = sums.addHour(hour, read->devices, read->shares);
    if (!done) return done.error();
    if (std::chrono::steady_clock::now() > until)
      return Error{ErrorCode::kUsage, "the report takes too long; accepted is a shorter time"};
  }
  UsageReport report(query);
  report.currency_ = prices.currency;
  report.total_ = sums.total();
  report.capacity_ = sums.capacity();
  report.unpriced_.assign(sums.unpricedModels().begin(), sums.unpricedModels().end());
  const bool named = query.by == UsageGroup::kShare || query.by == UsageGroup::kDevice;
  for (const auto& [key, amount] : sums.rows()) {
    const auto object = objects.find(key.first);
    const bool known = named && object != objects.end();
    history::ObjectRecord record = known ? object->second : history::ObjectRecord{};
    if (!named) record.name = key.first;
    report.rows_.push_back({key, std::move(record), amount});
  }
  std::sort(report.rows_.begin(), report.rows_.end(), [](const Row& a, const Row& b) {
    return std::tie(b.amount.allocated, a.key) < std::tie(a.amount.allocated, b.key);
  });
  return report;
}

bj::object UsageReport::rowJson(const UsageAmount& amount, Known known) const {
  const bool priced = !currency_.empty();
  return {{"allocated_device_hours", hoursOf(amount.allocated)},
          {"device_hours", knownOr(known.use, hoursOf(amount.used))},
          {"idle_device_hours", knownOr(known.use, hoursOf(amount.idle))},
          {"memory_byte_hours", amount.memory_byte_hours},
          {"throttled_ms", amount.throttled_ms},
          {"charged_micro", knownOr(priced, amount.charged)},
          {"used_micro", knownOr(priced && known.use, amount.used_cost)},
          {"idle_micro", knownOr(priced && known.use, amount.idle_cost)}};
}

bj::object UsageReport::json(Known known) const {
  bj::array items;
  for (const Row& row : rows_) {
    bj::object item{{"key", row.key.first}, {"name", row.record.name}};
    if (query_.step != UsageStep::kAll) item["start_ms"] = row.key.second * kHourMs;
    for (auto& [member, value] : rowJson(row.amount, known)) item[member] = std::move(value);
    items.push_back(std::move(item));
  }
  const bool priced = !currency_.empty();
  bj::object total = rowJson(total_, known);
  total["capacity_device_hours"] = knownOr(known.capacity, hoursOf(capacity_.device_hours));
  total["unallocated_device_hours"] = knownOr(known.capacity, hoursOf(capacity_.unallocated));
  total["price_micro"] = knownOr(priced && known.capacity, capacity_.price);
  total["unallocated_micro"] = knownOr(priced && known.capacity, capacity_.unallocated_cost);
  bj::array unpriced;
  if (known.capacity)
    for (const std::string& model : unpriced_) unpriced.push_back(bj::value(model));
  return {{"by", nameOf(query_.by)},
          {"step", nameOf(query_.step)},
          {"from_ms", query_.from_hour * kHourMs},
          {"to_ms", query_.to_hour * kHourMs},
          {"currency", knownOr(priced, currency_)},
          {"items", std::move(items)},
          {"total", std::move(total)},
          {"unpriced_models", std::move(unpriced)}};
}

std::vector<FocusRow> UsageReport::focusRows() const {
  std::vector<FocusRow> rows;
  rows.reserve(rows_.size());
  for (const Row& row : rows_)
    rows.push_back(
        {row.key.second, row.key.first, row.record, row.amount.allocated, row.amount.charged});
  return rows;
}

std::string UsageReport::csv(Known known) const {
  const bj::object columns = rowJson({}, known);
  const bool steps = query_.step != UsageStep::kAll;
  std::string text = steps ? "key,name,start_ms" : "key,name";
  for (const auto& column : columns) text += ',' + std::string(column.key());
  text += ",currency\r\n";
  for (const Row& row : rows_) {
    text += csvField(row.key.first) + ',' + csvField(row.record.name);
    if (steps) text += ',' + std::to_string(row.key.second * kHourMs);
    // An unknown amount is an empty field.
    for (const auto& column : rowJson(row.amount, known))
      text += ',' + (column.value().is_null()     ? std::string()
                     : column.value().is_double() ? std::to_string(column.value().get_double())
                                                  : bj::serialize(column.value()));
    text += ',' + (currency_.empty() ? std::string() : csvField(currency_)) + "\r\n";
  }
  return text;
}

}  // namespace divvy::console
