#include "reports/right_size_report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <boost/json.hpp>

#include "reports/csv.h"
#include "reports/price_lookup.h"
#include "reports/query_words.h"
#include "rows/workload_key.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using history::Instant;
using history::Span;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kHoursOfDay = 24;
constexpr std::int64_t kMaxDays = 400;
constexpr Span kRecent{600'000};
constexpr std::chrono::seconds kLongestRead{20};
constexpr double kPermilleOfPercent = 10;
constexpr double kPercent = 100;

template <typename T>
bj::value knownOrNull(const std::optional<T>& value) {
  return value ? bj::value(*value) : bj::value(nullptr);
}

// The maxima of the hours of three series.
struct HourMaxima {
  std::map<std::int64_t, std::int64_t> peak, busy, running;  // by hours since 1970
};

// Hours of the file have no points of the last minutes: the points in memory have these.
Result<void> addMaxima(const history::Store& store, const std::string& object,
                       const history::ReadRange& range, HourMaxima& maxima) {
  const auto keyOf = [&](std::string_view metric) {
    return history::SeriesKey{kWorkloadKind, object, std::string(metric)};
  };
  const std::array keys{keyOf(kPeakMetric), keyOf(kBusyMetric), keyOf(kRunningMetric)};
  const std::array columns{&maxima.peak, &maxima.busy, &maxima.running};
  const Result<history::SeriesColumns> table = store.read(keys, range);
  if (!table) return table.error();
  for (std::size_t at = 0; at < table->times.size(); ++at) {
    const std::int64_t hour = history::hourOf(table->times[at]);
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const std::optional<std::int64_t>& value = table->columns[column].max[at];
      if (!value) continue;
      std::int64_t& most = columns[column]->try_emplace(hour, *value).first->second;
      most = std::max(most, *value);
    }
  }
  return {};
}

Result<HourMaxima> readMaxima(const history::Store& store, const std::string& key,
                              std::int64_t from_ms, std::int64_t now_ms) {
  HourMaxima maxima;
  const std::string object = workloadObject(key);
  const Instant from{Span(from_ms)}, now{Span(now_ms)};
  // As many points as whole hours: the store reads its hours.
  const std::int64_t hours = (now_ms - from_ms) / kHourMs + 1;
  const Instant end = from + std::chrono::hours(hours);
  Result<void> done =
      addMaxima(store, object, {from, end, static_cast<std::size_t>(hours)}, maxima);
  if (done)
    done = addMaxima(store, object, {now - kRecent, now + Span(1), history::kMaxPoints}, maxima);
  if (!done) return done.error();
  return maxima;
}

SizeFacts factsOf(const HourMaxima& maxima, const RunningWorkload& workload) {
  SizeFacts facts;
  facts.limit_bytes = workload.limit_bytes;
  facts.cores_percent = workload.cores_percent;
  facts.engine_reserves = workload.engine_reserves;
  facts.peak_bytes = workload.used_bytes;
  for (const auto& [hour, bytes] : maxima.peak)
    facts.peak_bytes = std::max(facts.peak_bytes.value_or(0), static_cast<std::uint64_t>(bytes));
  std::vector<std::int64_t> busy;
  for (const auto& [hour, permille] : maxima.busy) busy.push_back(permille);
  if (const auto most = percentile95(std::move(busy)))
    facts.busy_percent = static_cast<double>(*most) / kPermilleOfPercent;
  std::set<std::int64_t> days;
  std::int64_t running_ms = 0;
  for (const auto& [hour, ms] : maxima.running) {
    days.insert(hour / kHoursOfDay);
    running_ms += ms;
  }
  facts.seen_days = static_cast<int>(days.size());
  facts.seen_hours = static_cast<double>(running_ms) / static_cast<double>(kHourMs);
  return facts;
}

// As a share is charged for its device: the larger part of memory and compute.
double chargedPart(const RunningWorkload::Part& part, std::uint64_t limit, double cores) {
  const double memory = part.device_bytes == 0
                            ? 0
                            : static_cast<double>(limit) / static_cast<double>(part.device_bytes);
  return std::max(memory, cores / kPercent);
}

double hundredths(double value) {
  return std::round(value * kPercent) / kPercent;
}

}  // namespace

Result<RightSizeQuery> readRightSizeQuery(const http::Query& query, bool of_cluster) {
  std::vector<std::string_view> accepted{"days"};
  if (of_cluster) accepted.emplace_back("namespace");
  const Result<void> known = checkWords(query, accepted);
  if (!known) return known.error();
  RightSizeQuery asked;
  const Result<std::int64_t> days = numberOf(query, "days", asked.days);
  if (!days || *days < 1 || *days > kMaxDays)
    return Error{ErrorCode::kUsage, "days: accepted is 1 to " + std::to_string(kMaxDays)};
  asked.days = static_cast<int>(*days);
  if (const std::string* name = query.parameter("namespace")) asked.namespace_name = *name;
  return asked;
}

void RightSizeReport::addSavings(const PriceTable& prices, Item& item) const {
  if (!currency_.empty()) item.idle_micro_per_day = 0;
  if (!item.advice.limit_bytes && !item.advice.cores_percent) return;
  for (const RunningWorkload::Part& part : item.workload.parts) {
    const std::uint64_t limit =
        std::min(part.limit_bytes, item.advice.limit_bytes.value_or(part.limit_bytes));
    const double cores =
        std::min(part.cores_percent, item.advice.cores_percent
                                         ? static_cast<double>(*item.advice.cores_percent)
                                         : part.cores_percent);
    const double freed =
        chargedPart(part, part.limit_bytes, part.cores_percent) - chargedPart(part, limit, cores);
    item.saving_bytes += part.limit_bytes - limit;
    item.saving_devices += freed;
    const DevicePrice* price = priceAt(prices, part.model, to_ms_);
    if (price != nullptr)
      *item.idle_micro_per_day +=
          std::llround(freed * static_cast<double>(price->per_hour_micro * kHoursOfDay));
  }
}

Result<RightSizeReport> RightSizeReport::read(const history::Store& store,
                                              const RightSizeQuery& query, const PriceTable& prices,
                                              RunningWorkloads workloads, std::int64_t now_ms) {
  if (workloads.size() > kMaxItems)
    return Error{ErrorCode::kUsage, "there are more than " + std::to_string(kMaxItems) +
                                        " workloads; narrow the report: add namespace=NS"};
  RightSizeReport report;
  report.query_ = query;
  report.currency_ = prices.currency;
  report.to_ms_ = now_ms;
  // Whole hours, at least the days.
  report.from_ms_ = (now_ms / kHourMs - query.days * kHoursOfDay) * kHourMs;
  const auto until = std::chrono::steady_clock::now() + kLongestRead;
  for (auto& [key, workload] : workloads) {
    const Result<HourMaxima> maxima = readMaxima(store, key, report.from_ms_, now_ms);
    if (!maxima) return maxima.error();
    Item item{key, std::move(workload), {}, {}, 0, 0, std::nullopt};
    item.facts = factsOf(*maxima, item.workload);
    item.advice = adviseSize(item.facts);
    report.addSavings(prices, item);
    report.items_.push_back(std::move(item));
    if (std::chrono::steady_clock::now() > until)
      return Error{ErrorCode::kUsage,
                   "the report takes too long; narrow it: fewer days, or add namespace=NS"};
  }
  // The keys are in order.
  std::stable_sort(report.items_.begin(), report.items_.end(),
                   [](const Item& a, const Item& b) { return a.saving_bytes > b.saving_bytes; });
  return report;
}

bj::object RightSizeReport::itemJson(const Item& item) {
  const RunningWorkload& workload = item.workload;
  const SizeFacts& facts = item.facts;
  const bool saves = item.advice.limit_bytes.has_value();
  return {{"key", item.key},
          {"namespace", workload.namespace_name},
          {"owner", workload.owner},
          {"container", workload.container},
          {"team", workload.team},
          {"queue", workload.queue},
          {"shares", workload.shares},
          {"seen_hours", hundredths(facts.seen_hours)},
          {"seen_days", facts.seen_days},
          {"limit_bytes", facts.limit_bytes},
          {"peak_bytes", knownOrNull(facts.peak_bytes)},
          {"advised_bytes", knownOrNull(item.advice.limit_bytes)},
          {"saving_bytes", saves ? bj::value(item.saving_bytes) : bj::value(nullptr)},
          {"cores_percent",
           facts.cores_percent > 0 ? bj::value(facts.cores_percent) : bj::value(nullptr)},
          {"busy_percent", knownOrNull(facts.busy_percent)},
          {"advised_cores", knownOrNull(item.advice.cores_percent)},
          {"idle_ms", knownOrNull(workload.idle_ms)},
          {"state", nameOf(item.advice.state)},
          {"idle_micro_per_day", knownOrNull(item.idle_micro_per_day)}};
}

bj::object RightSizeReport::json() const {
  bj::array items;
  std::uint64_t saving = 0;
  double devices = 0;
  std::int64_t idle = 0;
  for (const Item& item : items_) {
    items.push_back(itemJson(item));
    saving += item.saving_bytes;
    devices += item.saving_devices;
    idle += item.idle_micro_per_day.value_or(0);
  }
  const bool priced = !currency_.empty();
  return {
      {"days", query_.days},
      {"from_ms", from_ms_},
      {"to_ms", to_ms_},
      {"currency", priced ? bj::value(currency_) : bj::value(nullptr)},
      {"items", std::move(items)},
      {"total", bj::object{{"saving_bytes", saving},
                           {"saving_devices", hundredths(devices)},
                           {"idle_micro_per_day", priced ? bj::value(idle) : bj::value(nullptr)}}}};
}

std::string RightSizeReport::csv() const {
  std::string text;
  for (const auto& column : itemJson({})) text += std::string(column.key()) + ',';
  text += "currency\r\n";
  for (const Item& item : items_) {
    // What is not known is an empty field.
    for (const auto& [name, value] : itemJson(item))
      text += (value.is_null()     ? std::string()
               : value.is_string() ? csvField(std::string(value.get_string()))
               : value.is_double() ? std::to_string(value.get_double())
                                   : bj::serialize(value)) +
              ',';
    text += (currency_.empty() ? std::string() : csvField(currency_)) + "\r\n";
  }
  return text;
}

}  // namespace divvy::console
