// Clusters with their free capacity, as they are printed.
#include "clusters/clusters_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <boost/json.hpp>

namespace divvy::cli {
namespace {

constexpr const char* kReport =
    R"({"version":1,"scheduler":"divvy","identity":"x","at_ms":7,"models":[
      {"model":"H100","devices":8,"healthy":7,"idle":2,"memory_bytes":8589934592,
       "allocated_bytes":4294967296,"compute_milli":8000,"allocated_milli":500},
      {"model":"A10","devices":1,"healthy":1,"idle":1,"memory_bytes":1073741824,
       "allocated_bytes":0,"compute_milli":1000,"allocated_milli":0}],
      "models_left_out":0,"shapes":[],"shapes_left_out":0})";

ClusterCapacity named(const std::string& name, std::optional<FitCount> asked = {}) {
  Result<ClusterCapacity> one = capacityOf(kReport);
  EXPECT_TRUE(one) << one.error().message();
  one->name = name;
  one->asked = asked;
  return *one;
}

ClusterCapacity silent(const std::string& name) {
  ClusterCapacity one;
  one.name = name;
  one.problem = "connection refused";
  return one;
}

TEST(ClustersText, Text_SumsOverModels) {
  EXPECT_EQ(clustersText({named("lab"), silent("edge")}, false, 0),
            "lab   8/9  3  4GiB of 9GiB  8x H100, 1x A10\n"
            "edge    ?  ?  ?             not known: connection refused\n");
}

TEST(ClustersText, Question_MostFirstAndSilentLast) {
  std::vector<ClusterCapacity> all{silent("edge"), named("a", FitCount{2, 9}),
                                   named("b", FitCount{14, 14}), named("c", FitCount{2, 10}),
                                   named("d", FitCount{})};
  sortByFit(all);
  const std::string text = clustersText(all, true, 0);
  std::vector<std::size_t> at;
  for (const char* name : {"\nb ", "\nc ", "\na ", "\nd ", "\nedge "})
    at.push_back(text.find(name));
  EXPECT_TRUE(std::is_sorted(at.begin(), at.end())) << text;
  EXPECT_NE(text.find("FIT"), std::string::npos);
  EXPECT_NE(text.find("d          ?               ?"), std::string::npos)
      << "not counted is no zero: " << text;
}

TEST(ClustersText, ForgedTexts_HaveNoControlCharacters) {
  ClusterCapacity forged = named("lab");
  forged.models[0].model = "\x1b[2J" + std::string(500, 'm') + "\n";
  ClusterCapacity refused = silent("edge");
  refused.problem = "\x1b[2Jrefused\r\nedge2 8/8";
  const std::string text = clustersText({forged, refused}, false, 0);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find_first_of("\x1b\r"), std::string::npos) << text;
  EXPECT_LT(text.size(), 400u);
}

TEST(ClustersText, Json_HasCapacityOrProblem) {
  const boost::json::value all =
      boost::json::parse(clustersJson({named("a", FitCount{2, {}}), silent("edge")}));
  const boost::json::array& list = all.at("clusters").as_array();
  EXPECT_EQ(list[0].at("fit"), 2);
  EXPECT_TRUE(list[0].at("fit_after_eviction").is_null());
  EXPECT_TRUE(list[0].at("problem").is_null());
  EXPECT_EQ(list[0].at("capacity").at("at_ms"), 7);
  EXPECT_EQ(list[1].at("problem"), "connection refused");
  EXPECT_TRUE(list[1].at("capacity").is_null());
}

TEST(CapacityOf, LyingReports_RefusedOrWithoutEffect) {
  for (const char* text : {"", "[]", "{}", R"({"version":2})", R"({"version":"1"})", "nonsense"})
    EXPECT_FALSE(capacityOf(text)) << text;
  const Result<ClusterCapacity> odd =
      capacityOf(R"({"version":1,"at_ms":"x","models":[7,{"model":3,"devices":-1,"idle":1e300}]})");
  ASSERT_TRUE(odd);
  ASSERT_EQ(odd->models.size(), 1u);
  EXPECT_EQ(odd->models[0].devices, 0u);
  EXPECT_EQ(odd->models[0].idle, 0u);
  EXPECT_FALSE(fitCountOf("[]"));
  EXPECT_FALSE(fitCountOf(R"({"fit":-3})")->fit.has_value());
}

}  // namespace
}  // namespace divvy::cli
