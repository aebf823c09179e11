#include "reports/focus_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "reports/csv.h"

namespace divvy::console {
namespace {

using Record = std::map<std::string, std::string>;

// The fields of a line without line breaks in fields.
std::vector<std::string> fieldsOf(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '"' && quoted && at + 1 < line.size() && line[at + 1] == '"') {
      fields.back() += line[++at];
    } else if (line[at] == '"') {
      quoted = !quoted;
    } else if (line[at] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[at];
    }
  }
  return fields;
}

std::vector<Record> recordsOf(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = text.find("\r\n", from);
    lines.push_back(fieldsOf(text.substr(from, to - from)));
    from = to + 2;
  }
  std::vector<Record> records;
  for (std::size_t at = 1; at < lines.size(); ++at) {
    EXPECT_EQ(lines[at].size(), lines[0].size());
    Record& record = records.emplace_back();
    for (std::size_t column = 0; column < lines[0].size(); ++column)
      record[lines[0][column]] = lines[at].at(column);
  }
  return records;
}

FocusRow rowOf(std::int64_t first_hour) {
  FocusRow row;
  row.first_hour = first_hour;
  row.share = "team-a/web-1/main";
  row.record.namespace_name = "team-a";
  row.record.team = "a \"b\"";
  row.record.owner = "Deployment/web";
  row.allocated = 12'250'000'000;
  row.charged = 35'525'001;
  return row;
}

TEST(FocusCsv, Row_HasPeriodCostAndTags) {
  // 2026-12-31
  const std::vector<Record> records = recordsOf(focusCsv({rowOf(20'818 * 24)}, "prod", "EUR"));
  ASSERT_EQ(records.size(), 1u);
  Record record = records.front();
  EXPECT_EQ(record["ChargePeriodStart"], "2026-12-31T00:00:00Z");
  EXPECT_EQ(record["ChargePeriodEnd"], "2027-01-01T00:00:00Z");
  EXPECT_EQ(record["BillingPeriodStart"], "2026-12-01T00:00:00Z");
  EXPECT_EQ(record["BillingPeriodEnd"], "2027-01-01T00:00:00Z");
  for (const char* cost : {"BilledCost", "ContractedCost", "EffectiveCost", "ListCost"})
    EXPECT_EQ(record[cost], "35.525001") << cost << ": exact, not rounded";
  EXPECT_EQ(record["BillingCurrency"], "EUR");
  EXPECT_EQ(record["ConsumedQuantity"], "12.250000000");
  EXPECT_EQ(record["ConsumedUnit"], "Device-Hours");
  EXPECT_EQ(record["ChargeCategory"], "Usage");
  EXPECT_EQ(record["ServiceCategory"], "Compute");
  EXPECT_EQ(record["ResourceId"], "team-a/web-1/main");
  EXPECT_EQ(record["ResourceName"], "team-a/web-1/main") << "without a name its identifier";
  EXPECT_EQ(record["SubAccountId"], "team-a");
  EXPECT_EQ(record["ProviderName"], "prod");
  EXPECT_EQ(record["Tags"], R"({"namespace":"team-a","team":"a \"b\"","owner":"Deployment/web"})");
}

TEST(FocusCsv, NoRows_HeaderAlone) {
  const std::string text = focusCsv({}, "prod", "EUR");
  EXPECT_THAT(text, testing::StartsWith("BilledCost,BillingAccountId,"));
  EXPECT_EQ(text.find("\r\n"), text.size() - 2);
}

}  // namespace
}  // namespace divvy::console
