#include "reports/usage_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "recorded_history.h"
#include "reports/csv.h"
#include "sample_node.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;
using Words = std::vector<std::pair<std::string, std::string>>;

Result<UsageQuery> queryOf(const Words& words, bool of_cluster = false) {
  http::Query query;
  for (const auto& [name, value] : words) query.parameters.add(name, value);
  return readUsageQuery(query, of_cluster, kNow + 60'000);
}

TEST(UsageQueryTest, BadWords_RefusedWithAccepted) {
  const std::vector<std::pair<Words, const char*>> cases{
      {{{"by", "team"}}, "by: accepted is one of share, device, model"},
      {{{"by", ""}}, "by: accepted is"},
      {{{"step", "week"}}, "step: accepted is one of all, day, hour"},
      {{{"of", "share:a"}}, "unknown query word \"of\"; accepted: by, step, from, to"},
      {{{"from", "5"}, {"to", "4"}}, "from: accepted is an instant before \"to\""},
      {{{"to", "-1"}}, "to: accepted is a number"},
  };
  for (const auto& [words, message] : cases) {
    const Result<UsageQuery> query = queryOf(words);
    ASSERT_FALSE(query) << message;
    EXPECT_EQ(query.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(query.error().message(), HasSubstr(message));
  }
  EXPECT_TRUE(queryOf({{"by", "team"}, {"step", "day"}}, true));
}

TEST(UsageQueryTest, NoWords_LastDayInWholeHours) {
  const Result<UsageQuery> query = queryOf({});
  ASSERT_TRUE(query);
  EXPECT_EQ(query->to_hour - query->from_hour, 25) << "a part of the first and of the last";
  EXPECT_EQ(query->to_hour, kNow / 3'600'000 + 1);
}

TEST(UsageQueryTest, AnyTime_LimitedToWhatIsKept) {
  const Result<UsageQuery> all = queryOf({{"from", "0"}, {"to", "253402300799000"}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->to_hour, kNow / 3'600'000 + 1) << "the present hour is the last one";
  EXPECT_EQ(all->to_hour - all->from_hour, 400 * 24 + 1);
  const Result<UsageQuery> none = queryOf({{"from", "0"}, {"to", "1"}});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->from_hour, none->to_hour);
}

TEST(UsageQueryTest, DailyQuery_WholeDaysByShare) {
  http::Query words;
  words.parameters.add("from", std::to_string(kNow - 1));
  words.parameters.add("to", std::to_string(kNow + 1));
  const Result<UsageQuery> query = readDailyQuery(words, kNow + 60'000);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->from_hour % 24, 0);
  EXPECT_EQ(query->to_hour % 24, 0);
  EXPECT_EQ(query->to_hour - query->from_hour, 24);
  EXPECT_EQ(query->step, UsageStep::kDay);
  EXPECT_EQ(query->by, UsageGroup::kShare);
  words.parameters.add("by", "team");
  EXPECT_FALSE(readDailyQuery(words, kNow)) << "the columns are of shares";
}

class UsageReportTest : public RecordedHistory {
 protected:
  // Readings of `seconds`, one each second.
  void record(const agent::Snapshot& node, int seconds) {
    for (int second = 0; second <= seconds; ++second, now_ms_ += 1000)
      RecordedHistory::record(reading(node));
    ASSERT_TRUE(store_.flush());
  }
  bj::object reportBy(const char* by, const PriceTable& prices = {},
                      UsageReport::Known known = {}) {
    const Result<UsageQuery> query = queryOf({{"by", by}});
    EXPECT_TRUE(query);
    const Result<UsageReport> report = UsageReport::read(store_, *query, prices, nullptr);
    EXPECT_TRUE(report);
    return report->json(known);
  }
};

double numberAt(const bj::value& object, const char* member) {
  return object.at(member).to_number<double>();
}

TEST_F(UsageReportTest, RecordedMinute_SumsOfMemoryAndTime) {
  agent::Snapshot node = sampleNode();
  node.tenants[0].shares[0].got_permille = 500;
  record(node, 60);
  const bj::object report = reportBy("share", {"EUR", {{"h100", 3'600'000'000, 0}}});
  const bj::array& items = report.at("items").as_array();
  ASSERT_EQ(items.size(), 2u);
  const bj::value& train = items[0];
  EXPECT_EQ(train.at("key"), "studio/t-1");
  EXPECT_EQ(train.at("name"), "train");
  EXPECT_NEAR(numberAt(train, "device_hours"), 30.0 / 3600, 0.3 / 3600);
  EXPECT_NEAR(numberAt(train, "memory_byte_hours"), static_cast<double>(std::int64_t{4} << 30) / 60,
              5e5);
  // 30 % of the compute is more than 4 of 80 GiB. It used more than that.
  EXPECT_NEAR(numberAt(train, "allocated_device_hours"), 0.3 / 60, 1e-4);
  EXPECT_EQ(train.at("idle_device_hours"), 0.0);
  // One unit a second.
  EXPECT_NEAR(numberAt(train, "charged_micro"), 0.3 * 60'000'000, 500'000);
  const bj::value& total = report.at("total");
  EXPECT_NEAR(numberAt(total, "capacity_device_hours"), 2.0 / 60, 1e-6) << "two devices";
  EXPECT_NEAR(numberAt(total, "price_micro"), 120'000'000, 1);
  EXPECT_EQ(total.at("charged_micro").as_int64() + total.at("unallocated_micro").as_int64(),
            total.at("price_micro").as_int64());
  EXPECT_EQ(report.at("currency"), "EUR");
  EXPECT_TRUE(report.at("unpriced_models").as_array().empty());
}

// Regression: a busy share without neighbours counted as idle.
TEST_F(UsageReportTest, ShareAloneOnDevice_DriversUtilisationCounts) {
  agent::Snapshot node = sampleNode();
  node.tenants[0].shares[0].got_permille = -1;
  node.tenants[0].shares[0].utilisation = 50;
  record(node, 60);
  EXPECT_NEAR(numberAt(reportBy("share").at("items").at(0), "device_hours"), 30.0 / 3600,
              0.3 / 3600);
}

TEST_F(UsageReportTest, ByDeviceAndModel_NamesOfDevice) {
  record(sampleNode(), 10);
  const bj::object devices = reportBy("device"), models = reportBy("model");
  ASSERT_EQ(devices.at("items").as_array().size(), 1u);
  EXPECT_EQ(devices.at("items").at(0).at("key"), "GPU-0");
  EXPECT_EQ(devices.at("items").at(0).at("name"), "studio/0");
  ASSERT_EQ(models.at("items").as_array().size(), 1u);
  EXPECT_EQ(models.at("items").at(0).at("key").as_string(), sampleNode().devices[0].model);
}

TEST_F(UsageReportTest, ShareRenamed_HasLastName) {
  agent::Snapshot node = sampleNode();
  record(node, 5);
  node.tenants[0].name = "renamed";
  record(node, 5);
  EXPECT_EQ(reportBy("share").at("items").at(0).at("name"), "renamed");
}

TEST_F(UsageReportTest, UnknownAmounts_AreNull) {
  record(sampleNode(), 5);
  const bj::object report = reportBy("share", {}, {.use = false, .capacity = false});
  for (const char* member : {"device_hours", "idle_device_hours", "charged_micro", "used_micro"})
    EXPECT_TRUE(report.at("items").at(0).at(member).is_null()) << member;
  for (const char* member : {"capacity_device_hours", "unallocated_device_hours", "price_micro"})
    EXPECT_TRUE(report.at("total").at(member).is_null()) << member;
  EXPECT_TRUE(report.at("currency").is_null());
  EXPECT_FALSE(report.at("items").at(0).at("allocated_device_hours").is_null());
}

TEST_F(UsageReportTest, Csv_RowsWithHeader) {
  agent::Snapshot node = sampleNode();
  node.tenants[0].name = "=1+1";
  record(node, 5);
  const Result<UsageQuery> query = queryOf({{"step", "day"}});
  ASSERT_TRUE(query);
  const Result<UsageReport> report = UsageReport::read(store_, *query, {}, nullptr);
  ASSERT_TRUE(report);
  const std::string text = report->csv({});
  EXPECT_TRUE(text.starts_with(
      "key,name,start_ms,allocated_device_hours,device_hours,idle_device_hours,memory_byte_hours,"
      "throttled_ms,charged_micro,used_micro,idle_micro,currency\r\n"))
      << text;
  const std::string day = std::to_string(kNow / 86'400'000 * 86'400'000);
  EXPECT_THAT(text, HasSubstr("\r\n\"studio/t-1\",\"'=1+1\"," + day + ",0.0004")) << text;
  EXPECT_TRUE(text.ends_with(",0,,,,\r\n")) << text;
}

TEST_F(UsageReportTest, FocusRows_AddUpToReport) {
  record(sampleNode(), 60);
  http::Query words;
  words.parameters.add("from", std::to_string(kNow));
  words.parameters.add("to", std::to_string(now_ms_));
  const Result<UsageQuery> query = readDailyQuery(words, now_ms_);
  ASSERT_TRUE(query);
  const Result<UsageReport> report =
      UsageReport::read(store_, *query, {"EUR", {{"h100", 3'600'000'000, 0}}}, nullptr);
  ASSERT_TRUE(report);
  history::MicroUnits charged = 0;
  for (const FocusRow& row : report->focusRows()) {
    charged += row.charged;
    EXPECT_EQ(row.first_hour, kNow / 86'400'000 * 24);
    EXPECT_NE(row.record.name, "");
  }
  EXPECT_GT(charged, 0);
  EXPECT_EQ(report->json({}).at("total").at("charged_micro").as_int64(), charged);
}

TEST(CsvField, FormulasAndQuotes_AreText) {
  for (const char first : std::string("=+-@\t\r\n"))
    EXPECT_EQ(csvField(first + std::string("1+1")), "\"'" + (first + std::string("1+1")) + "\"");
  EXPECT_EQ(csvField("a\"b,c"), "\"a\"\"b,c\"");
  EXPECT_EQ(csvField("line\nbreak"), "\"line\nbreak\"");
  EXPECT_EQ(csvField(""), "\"\"");
}

}  // namespace
}  // namespace divvy::console
