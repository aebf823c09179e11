#include "api/history_queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include <boost/json.hpp>

#include "recorded_history.h"
#include "sample_node.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

http::Query queryOf(const std::vector<std::pair<std::string, std::string>>& words) {
  http::Query query;
  for (const auto& [name, value] : words) query.parameters.add(name, value);
  return query;
}

class HistoryQueries : public RecordedHistory {};

TEST_F(HistoryQueries, BadSeriesWords_RefusedWithAccepted) {
  using Words = std::vector<std::pair<std::string, std::string>>;
  const std::pair<std::string, std::string> of{"of", "device:GPU-0"}, what{"what", "tenants"};
  const std::vector<std::pair<Words, const char*>> cases{
      {{}, "of: accepted is device:UUID"},
      {{{"of", "GPU-0"}, what}, "of: accepted"},
      {{{"of", "device:"}, what}, "of: accepted"},
      {{{"of", "queue:a"}, what}, "of: accepted"},
      {{of}, "what: accepted are"},
      {{of, {"what", ""}}, "memory_used_bytes"},
      {{of, {"what", "tenants,"}}, "what: accepted"},
      {{of, {"what", "tenants, tenants"}}, "what: accepted"},
      {{of, {"what", "usage_permille"}}, "what: accepted"},
      {{of, what, {"step", "5"}}, "accepted: of, what, from, to, points"},
      {{of, what, {"points", "0"}}, "points: accepted"},
      {{of, what, {"points", "2001"}}, "points: accepted"},
      {{of, what, {"points", "many"}}, "points: accepted"},
      {{of, what, {"from", "-5"}}, "from: accepted"},
      {{of, what, {"from", "1e3"}}, "from: accepted"},
      {{of, what, {"to", "99999999999999999999"}}, "to: accepted"},
      {{of, what, {"from", "10"}, {"to", "10"}}, "from: accepted"},
      {{of, what, {"from", "11"}, {"to", "10"}}, "from: accepted"},
      {{of, what, {"to", "0"}}, "from: accepted"},
  };
  for (const auto& [words, message] : cases) {
    const Result<bj::object> series = seriesOf(store_, queryOf(words), kNow);
    ASSERT_FALSE(series) << message;
    EXPECT_EQ(series.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(series.error().message(), HasSubstr(message));
  }
}

TEST_F(HistoryQueries, EachMetricTwice_Refused) {
  const Result<bj::object> series =
      seriesOf(store_, queryOf({{"of", "overview:all"}, {"what", "tenants,tenants"}}), kNow);
  EXPECT_FALSE(series) << "each once, as the message says";
}

TEST_F(HistoryQueries, WidestRange_Answered) {
  record(reading(sampleNode()));
  const Result<bj::object> series = seriesOf(store_,
                                             queryOf({{"of", "device:GPU-0"},
                                                      {"what", "tenants"},
                                                      {"from", "0"},
                                                      {"to", "253402300799000"},
                                                      {"points", "2000"}}),
                                             kNow);
  ASSERT_TRUE(series) << series.error().message();
  EXPECT_LE(series->at("t_ms").as_array().size(), 2000u);
}

TEST_F(HistoryQueries, UnknownObject_OnlyNull) {
  const Result<bj::object> series = seriesOf(
      store_, queryOf({{"of", "device:" + std::string(300, 'x')}, {"what", "tenants"}}), kNow);
  ASSERT_TRUE(series) << series.error().message();
  for (const bj::value& value : series->at("series").at(0).at("mean").as_array())
    EXPECT_TRUE(value.is_null());
}

TEST_F(HistoryQueries, AgentSilent_GapIsNull) {
  const agent::Snapshot node = sampleNode();
  const auto silent = [] {
    NodeReading reading;
    reading.node = "studio";
    reading.failure = "no answer";
    return std::vector<NodeReading>{reading};
  };
  // 20 s with an agent, 20 s without, 20 s with.
  for (int second = 0; second < 60; ++second, now_ms_ += 1000)
    record(second / 20 == 1 ? silent() : reading(node));
  for (const char* of : {"device:GPU-0", "overview:all"}) {
    const Result<bj::object> series = seriesOf(store_,
                                               queryOf({{"of", of},
                                                        {"what", "tenants,memory_used_bytes"},
                                                        {"from", std::to_string(kNow)},
                                                        {"to", std::to_string(now_ms_)}}),
                                               now_ms_);
    ASSERT_TRUE(series) << series.error().message();
    EXPECT_EQ(series->at("tier"), "5s");
    const bj::array& tenants = series->at("series").at(0).at("mean").as_array();
    ASSERT_EQ(tenants.size(), series->at("t_ms").as_array().size());
    std::array<int, 2> counts{};
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      const std::int64_t second = (series->at("t_ms").at(i).as_int64() - kNow) / 1000;
      EXPECT_TRUE(tenants[i].is_null() || second < 20 || second >= 40) << of << " " << second;
      EXPECT_TRUE(tenants[i].is_null() || tenants[i] == 2) << of << " " << second;
      ++counts[tenants[i].is_null() ? 0 : 1];
    }
    EXPECT_GE(counts[0], 3) << of;
    EXPECT_GE(counts[1], 6) << of;
    const bj::value& used = series->at("series").at(1).at("max").as_array().front();
    EXPECT_EQ(used, std::int64_t{2} << 30);
  }
}

TEST_F(HistoryQueries, UnknownUtilisation_NoZero) {
  for (int second = 0; second < 20; ++second, now_ms_ += 1000) record(reading(sampleNode()));
  const Result<bj::object> series =
      seriesOf(store_,
               queryOf({{"of", "device:GPU-0"},
                        {"what", "utilisation_permille,compute_usage_permille"},
                        {"from", std::to_string(kNow)},
                        {"to", std::to_string(now_ms_)}}),
               now_ms_);
  ASSERT_TRUE(series);
  for (const bj::value& one : series->at("series").as_array()) {
    for (const bj::value& value : one.at("mean").as_array()) EXPECT_TRUE(value.is_null());
  }
}

}  // namespace
}  // namespace divvy::console
