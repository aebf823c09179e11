// Scenarios: read as a whole, or refused with the place and what is accepted.
#include "simulator/scenario.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "scenario_check.h"
#include "trace_files.h"

namespace divvy::simulator {
namespace {

const std::string kGood = R"(name: small
claim: "half"
sources: ["made up"]
hours: 2
clusters:
  - {name: a, nodes: 2, gpus: 4, gpu_memory: 80Gi, link: 20, price: 1.5}
workloads:
  - name: web
    kind: service
    count: 3
    priority: high
    memory: 20Gi
    cores: 25
    duty: {mean: 7, trough: 0.2, peak: 19.8, busy: 18.4, spread: 0.805, burst: 90s, peak_hour: 3}
  - {name: jobs, kind: batch, memory: 8Gi, duty: {mean: 90}, per_hour: 2.5, length: 1h}
sharing:
  overcommit: [1.0, 1.25]
  policy: bestfit
  daily: [off, ties, 1.25]
)";

TEST(ScenarioText, ValidScenario_IsRead) {
  const Result<Scenario> scenario = parseScenario(kGood, "s.yaml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  EXPECT_EQ(scenario->name, "small");
  EXPECT_EQ(scenario->clusters[0].gpu_memory, gib(80));
  EXPECT_EQ(scenario->clusters[0].price, 1.5);
  ASSERT_EQ(scenario->workloads.size(), 2u);
  const DayWorkload& web = scenario->workloads[0];
  EXPECT_EQ(web.urgency, Urgency::kHigh);
  EXPECT_EQ(web.duty.burst_ms, 90'000);
  EXPECT_EQ(web.duty.peak_hour, 3);
  EXPECT_EQ(scenario->workloads[1].length_ms, 3'600'000);
  EXPECT_EQ(scenario->workloads[1].urgency, Urgency::kNormal);
  EXPECT_EQ(scenario->sharing.overcommit, (std::vector<std::uint32_t>{1000, 1250}));
  EXPECT_EQ(scenario->sharing.policy, engine::Policy::kBestFit);
  ASSERT_EQ(scenario->sharing.daily.size(), 3u);
  EXPECT_FALSE(scenario->sharing.daily[0].ties);
  EXPECT_TRUE(scenario->sharing.daily[1].ties);
  EXPECT_EQ(scenario->sharing.daily[1].avoid_above, 0u);
  EXPECT_EQ(scenario->sharing.daily[2].avoid_above, 1250u);
}

struct Wrong {
  const char* from;
  const char* to;
  const char* says;
};

TEST(ScenarioText, InvalidText_ErrorNamesPlace) {
  const std::vector<Wrong> cases{
      {"hours: 2", "hours: -1", "s.yaml:4:8: \"-1\"; accepted: a number from 0.1 to 744"},
      {"hours: 2", "hours: nan", "\"nan\"; accepted"},
      {"ties, 1.25]", "sometimes]", "accepted: off, ties, a number from 0.1 to 4"},
      {"ties, 1.25]", "0]", "accepted: off, ties, a number from 0.1 to 4"},
      {"hours: 2", "days: 2", "s.yaml:4:1: unknown key \"days\"; accepted: name, claim"},
      {"count: 3", "count: 3.5", "s.yaml:10:12: \"3.5\"; accepted: a whole number from 1"},
      {"count: 3", "count: 3\n    count: 4", "is given twice"},
      {"kind: service", "kind: servcie", "s.yaml:9:11: \"servcie\"; accepted: service, sandbox"},
      {"priority: high", "priority: urgent", "accepted: high, normal, low"},
      {"memory: 20Gi", "memory: lots", "s.yaml:12:13: "},
      {"memory: 20Gi", "memory: 81Gi", "is more than any device has; accepted: at most 80 GiB"},
      {"memory: 20Gi", "memory: 20Gi\n    guarantee: 21Gi", "is more than memory"},
      {"cores: 25", "cores: 101", "accepted: a whole number from 1 to 100"},
      {"burst: 90s", "burst: 90", "is no time; accepted: 1s to 720h, as 90s"},
      {"trough: 0.2", "trough: 8", "is not between trough and peak"},
      {"peak: 19.8", "peak: 30", "a peak that work at its rate never reaches; accepted: at most"},
      {"per_hour: 2.5, ", "", "lacks per_hour"},
      {"length: 1h", "length: 1h, count: 2", "count is not of a batch; accepted: per_hour"},
      {"count: 3", "per_hour: 3", "per_hour is not of a service"},
      {"count: 3", "count: 200001", "accepted: a whole number from 1 to 200000"},
      {"count: 3", "lifetime: 60s\n    count: 200000", "come to more than 2 million pods"},
      {"name: jobs", "name: web", "a second workload of that name"},
      {"name: web", "name: \"a b\"", "s.yaml:8:11: is no name; accepted: up to 40 letters"},
      {"[1.0, 1.25]", "[1.25, 1.0]", "s.yaml:17:22: does not ascend"},
      {"[1.0, 1.25]", "[0.5]", "accepted: a number from 1 to 4"},
      {"[1.0, 1.25]", "[]", "accepted: a list that is not empty"},
      {"policy: bestfit", "policy: best", "accepted: random, dotprod"},
      {"clusters:\n", "clusters: 7\nx:\n", "s.yaml:6:1: unknown key \"x\""},
      {"gpus: 4, ", "gpus: 4, gpus: 5, ", "is given twice"},
      {"{name: a,", "{name: a", "s.yaml:"},
  };
  for (const Wrong& wrong : cases) {
    std::string text = kGood;
    const std::size_t at = text.find(wrong.from);
    ASSERT_NE(at, std::string::npos) << wrong.from;
    text.replace(at, std::string(wrong.from).size(), wrong.to);
    const Result<Scenario> scenario = parseScenario(text, "s.yaml");
    ASSERT_FALSE(scenario) << wrong.to;
    EXPECT_EQ(scenario.error().code(), ErrorCode::kUsage);
    EXPECT_NE(scenario.error().message().find(wrong.says), std::string::npos)
        << scenario.error().message() << "\nshould say: " << wrong.says;
    EXPECT_TRUE(scenario.error().message().starts_with("s.yaml:")) << scenario.error().message();
  }
  EXPECT_FALSE(parseScenario("", "s.yaml"));
  EXPECT_FALSE(parseScenario(std::string(2u << 20, ' '), "s.yaml"));
}

TEST(ScenarioText, FuzzCorpus_NoFault) {
  std::size_t files = 0, read = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(besideTests("corpus/fuzz_scenario"))) {
    bool good = false;
    EXPECT_EQ(faultOfScenario(contentsOf(entry.path().string()), &good), "") << entry.path();
    ++files;
    read += good ? 1 : 0;
  }
  EXPECT_GE(files, 7u);
  EXPECT_GE(read, 3u);
}

// They are part of the product: a change of the reader must not leave them behind.
TEST(ScenarioText, EachExperiment_IsRead) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(besideTests("../../experiments"))) {
    if (entry.path().extension() != ".yaml") continue;
    const Result<Scenario> scenario =
        parseScenario(contentsOf(entry.path().string()), entry.path().filename().string());
    EXPECT_TRUE(scenario) << scenario.error().message();
    if (!scenario) continue;
    EXPECT_EQ(scenario->name + ".yaml", entry.path().filename().string());
    ++files;
  }
  EXPECT_GE(files, 1u);
}

}  // namespace
}  // namespace divvy::simulator
