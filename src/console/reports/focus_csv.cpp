#include "reports/focus_csv.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include <boost/json.hpp>

#include "reports/csv.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::int64_t kHoursOfDay = 24;
constexpr std::int64_t kBillion = 1'000'000'000;
constexpr std::int64_t kMillion = 1'000'000;

sys_days dayOf(std::int64_t hour) {
  return sys_days(std::chrono::days(hour / kHoursOfDay));
}

// "2026-11-30T00:00:00Z"
std::string instantText(sys_days day) {
  const year_month_day date(day);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT00:00:00Z", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text.data();
}

// Exact: 1234567 millionths are "1.234567". `amount` is at least 0.
std::string decimal(std::int64_t amount, std::int64_t unit) {
  std::string rest = std::to_string(amount % unit + unit).substr(1);
  return std::to_string(amount / unit) + '.' + std::move(rest);
}

// The first day of the month of a day, and of the next month.
std::pair<sys_days, sys_days> monthOf(sys_days day) {
  const year_month_day date(day);
  const year_month_day first(date.year(), date.month(), std::chrono::day(1));
  return {sys_days(first), sys_days(first + std::chrono::months(1))};
}

std::string tagsOf(const history::ObjectRecord& record) {
  bj::object tags;
  for (const auto& [name, value] :
       {std::pair("namespace", &record.namespace_name), std::pair("team", &record.team),
        std::pair("queue", &record.queue), std::pair("owner", &record.owner)})
    if (!value->empty()) tags[name] = *value;
  return bj::serialize(tags);
}

using Columns = std::vector<std::pair<const char*, std::string>>;

// Each line has all of them, in this order.
Columns columnsOf(const FocusRow& row, const std::string& account, const std::string& currency) {
  const sys_days day = dayOf(row.first_hour);
  const auto [month, next_month] = monthOf(day);
  const std::string cost = decimal(row.charged, kMillion);
  const std::string hours = decimal(row.allocated, kBillion);
  const std::string& name = row.record.name.empty() ? row.share : row.record.name;
  return {{"BilledCost", cost},
          {"BillingAccountId", csvField(account)},
          {"BillingAccountName", csvField(account)},
          {"BillingCurrency", csvField(currency)},
          {"BillingPeriodEnd", instantText(next_month)},
          {"BillingPeriodStart", instantText(month)},
          {"ChargeCategory", "Usage"},
          {"ChargeClass", ""},
          {"ChargeDescription", csvField("Allocated part of devices, " + name)},
          {"ChargeFrequency", "Usage-Based"},
          {"ChargePeriodEnd", instantText(day + std::chrono::days(1))},
          {"ChargePeriodStart", instantText(day)},
          {"ConsumedQuantity", hours},
          {"ConsumedUnit", "Device-Hours"},
          {"ContractedCost", cost},
          {"EffectiveCost", cost},
          {"InvoiceIssuerName", csvField(account)},
          {"ListCost", cost},
          {"PricingQuantity", hours},
          {"PricingUnit", "Device-Hours"},
          {"ProviderName", csvField(account)},
          {"PublisherName", csvField(account)},
          {"ResourceId", csvField(row.share)},
          {"ResourceName", csvField(name)},
          {"ResourceType", "GPU share"},
          {"ServiceCategory", "Compute"},
          {"ServiceName", "GPU shares"},
          {"SubAccountId", csvField(row.record.namespace_name)},
          {"SubAccountName", csvField(row.record.namespace_name)},
          {"Tags", csvField(tagsOf(row.record))}};
}

}  // namespace

std::string focusCsv(const std::vector<FocusRow>& rows, const std::string& account,
                     const std::string& currency) {
  std::string text;
  for (const auto& [name, value] : columnsOf({}, account, currency))
    text += (text.empty() ? "" : ",") + std::string(name);
  text += "\r\n";
  for (const FocusRow& row : rows) {
    bool first = true;
    for (const auto& [name, value] : columnsOf(row, account, currency))
      text += (std::exchange(first, false) ? "" : ",") + value;
    text += "\r\n";
  }
  return text;
}

}  // namespace divvy::console
