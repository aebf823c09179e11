// `divvy simulate` on the small trace that was made up for tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "pty.h"
#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

class Simulate : public ::testing::Test {
 protected:
  Simulate() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~Simulate() override { std::filesystem::remove_all(folder_); }

  Words openb(const Words& more) const {
    const std::string data =
        std::string(std::getenv("DIVVY_SOURCE_DIR")) + "/tests/simulator/data/";
    Words words{"simulate", "openb", "--nodes", data + "nodes.csv", "--pods", data + "pods.csv"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words plan(const Words& more) const {
    Words words = openb(more);
    words[1] = "plan";
    return words;
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string contents(const std::string& name) const {
    std::ifstream file(path(name));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  void expectRefused(const Words& words, int code, const std::string& part) {
    const Outcome outcome = sandbox_.divvy(words);
    EXPECT_EQ(outcome.code(), code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "\nshould say: " << part;
  }

  Sandbox sandbox_;
  std::string folder_ = testing::TempDir() + "divvy-simulate-XXXXXX";
};

TEST_F(Simulate, OnePolicy_FiguresPerSeedInJson) {
  const Outcome outcome =
      sandbox_.divvy(openb({"--policy", "fgd", "--seeds", "3", "--json", path("out.json")}));
  ASSERT_EQ(outcome.code(), 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << "no bar where there is no terminal";
  EXPECT_NE(outcome.out.find("ALLOC@100"), std::string::npos);
  const bj::value all = bj::parse(contents("out.json"));
  EXPECT_EQ(all.at("policy"), "fgd");
  EXPECT_EQ(all.at("workload"), "pods");
  EXPECT_EQ(all.at("gpus"), 57);
  const bj::object& seeds = all.at("alloc_at_100").at("seeds").as_object();
  ASSERT_EQ(seeds.size(), 3u);
  double sum = 0;
  for (const auto& seed : seeds) sum += seed.value().to_number<double>();
  EXPECT_NEAR(all.at("alloc_at_100").at("mean").to_number<double>(), sum / 3, 0.001);
  EXPECT_GT(all.at("alloc_at_100").at("sd").to_number<double>(), 0);
  for (const char* key : {"alloc_pct", "frag_pct_of_idle", "frag_pct_of_gpus"}) {
    EXPECT_EQ(all.at("by_arrival").at(key).as_array().size(), 131u) << key;
  }
  EXPECT_FALSE(std::filesystem::exists(path("out.json.new")));
}

TEST_F(Simulate, SvgOfTwoPolicies_LineEachAndReproducible) {
  const auto draw = [&](const std::string& name) {
    const Outcome outcome =
        sandbox_.divvy(openb({"--policy", "fgd,random", "--seeds", "1", "--svg", path(name)}));
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
    return contents(name);
  };
  const std::string svg = draw("one.svg");
  EXPECT_EQ(svg, draw("two.svg"));
  for (const char* word : {"<svg", ">fgd<", ">random<", ">pods<", "</svg>\n"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
}

TEST_F(Simulate, Plan_RowPerOvercommitInTableAndJson) {
  const Outcome table =
      sandbox_.divvy(plan({"--overcommit", "2.0,1.0", "--seeds", "1", "--svg", path("plan.svg")}));
  ASSERT_EQ(table.code(), 0) << table.err;
  EXPECT_EQ(table.err, "");
  EXPECT_EQ(table.out.find("OVERCOMMIT"), 0u);
  EXPECT_NE(table.out.find("\ndevice each"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\n2.0 "), std::string::npos) << table.out;
  EXPECT_NE(contents("plan.svg").find("GPUs saved"), std::string::npos);
  const Outcome printed = sandbox_.divvy(plan({"-o", "json", "--json", path("plan.json")}));
  ASSERT_EQ(printed.code(), 0) << printed.err;
  EXPECT_EQ(printed.out, contents("plan.json"));
  const bj::value all = bj::parse(printed.out);
  const bj::array& rows = all.at("rows").as_array();
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_TRUE(rows[0].at("overcommit").is_null());
  for (std::size_t i = 2; i < rows.size(); ++i) {
    EXPECT_LE(rows[i].at("gpus").to_number<double>(), rows[i - 1].at("gpus").to_number<double>());
  }
  EXPECT_GT(rows[6].at("sharing_saved_pct").to_number<double>(), 30);
}

const char* const kDay = R"(name: small
hours: 4
clusters: [{name: a, nodes: 1, gpus: 8, gpu_memory: 80Gi}]
workloads:
  - {name: web, kind: service, count: 6, priority: high, memory: 30Gi, duty: {mean: 7, busy: 40}}
  - {name: train, kind: batch, memory: 30Gi, per_hour: 2, length: 30m, duty: {mean: 90}}
sharing: {overcommit: [1.0, 1.3]}
)";

TEST_F(Simulate, Day_SharingComparedWithDedicatedCards) {
  const std::string scenario = put("day.yaml", kDay);
  const Outcome table =
      sandbox_.divvy({"simulate", "day", scenario, "--seeds", "2", "--svg", path("day.svg")});
  ASSERT_EQ(table.code(), 0) << table.err;
  EXPECT_EQ(table.err, "");
  EXPECT_EQ(table.out.find("OVERCOMMIT"), 0u);
  EXPECT_NE(table.out.find("\ndevice each"), std::string::npos) << table.out;
  EXPECT_NE(contents("day.svg").find(">GPU-hours saved<"), std::string::npos);
  const Outcome printed = sandbox_.divvy({"simulate", "day", scenario, "--overcommit", "1.0,1.5,2",
                                          "-o", "json", "--json", path("day.json")});
  ASSERT_EQ(printed.code(), 0) << printed.err;
  EXPECT_EQ(printed.out, contents("day.json"));
  const bj::value all = bj::parse(printed.out);
  const bj::array& rows = all.at("rows").as_array();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows[0].at("overcommit").is_null());
  for (const bj::value& row : rows) {
    EXPECT_NEAR(row.at("work_gpu_hours").to_number<double>(),
                rows[0].at("work_gpu_hours").to_number<double>(), 1e-3);
  }
  EXPECT_LT(rows[1].at("gpu_hours").to_number<double>(),
            0.8 * rows[0].at("gpu_hours").to_number<double>());
}

TEST_F(Simulate, AllPolicies_ListedAndEqualForAnyJobs) {
  const auto run = [&](const std::string& jobs) {
    const std::string name = "jobs" + jobs + ".json";
    const Outcome outcome = sandbox_.divvy(openb({"--policy", "all", "--seeds", "2", "--sample",
                                                  "50%", "--jobs", jobs, "--json", path(name)}));
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
    return contents(name);
  };
  const std::string one = run("1");
  EXPECT_EQ(one, run("3"));
  const bj::value all = bj::parse(one);
  EXPECT_EQ(all.at("results").as_array().size(), 7u);
  EXPECT_EQ(all.at("sample_pct"), 50);
  EXPECT_EQ(all.at("results").as_array()[6].at("policy"), "divvy");
}

TEST_F(Simulate, UsageErrors_AcceptedNamedAndFileKept) {
  const std::string file = put("out.json", "as it was");
  const std::vector<std::pair<Words, std::string>> cases{
      {{"simulate"}, "see divvy simulate --help"},
      {{"simulate", "openx"}, "\"openx\" is not a command; accepted: openb plan day defrag"},
      {{"simulate", "day"}, "scenario is required"},
      {{"simulate", "day", folder_}, "is a directory; accepted: a scenario in YAML"},
      {{"simulate", "day", put("bad.yaml", "name: a\nhours: none\n")},
       "bad.yaml:2:8: \"none\"; accepted: a number from 0.1 to 744"},
      {plan({"--overcommit", "0.9"}), "\"0.9\" is not accepted; numbers from 1.0 to 4.0"},
      {plan({"--overcommit", "1.0,"}), "--overcommit \"\" is not accepted"},
      {plan({"--overcommit", "nan"}), "--overcommit \"nan\""},
      {plan({"--policy", "all"}), "--policy: several values; accepted: one of them"},
      {plan({"--pods", openb({})[5]}), "--pods: 2 files; accepted: one"},
      {plan({"-o", "yaml"}), "--output \"yaml\" is not known; accepted: table, json"},
      {plan({"--tune", "1"}), "see divvy simulate plan --help"},
      {{"simulate", "openb", "--nodes", "n.csv"}, "see divvy simulate openb --help"},
      {openb({"--policy", "fdg"}), "accepted: random, dotprod, clustering"},
      {openb({"--policy", "fgd,"}), "policy \"\"; accepted"},
      {openb({"--seeds", "0"}), "--seeds \"0\" is not accepted; a whole number from 1 to 1000"},
      {openb({"--tune", "nan"}), "--tune \"nan\" is not accepted; a number above 0 and up to 10"},
      {openb({"--tune", "1e1"}), "--tune \"1e1\""},
      {openb({"--sample", "0%"}), "from 1 to 100"},
      {openb({"--jobs", "many"}), "--jobs \"many\""},
      {{"simulate", "openb", "extra"}, "--nodes is required"},
      {openb({"--policy", "fgd", "extra"}), "policy \"extra\""},
      {{"simulate", "openb", "--nodes", "", "--pods", "p"}, "--nodes has no value"},
      {openb({"--pods", openb({})[5]}), "two files are called \"pods\""},
      {{"simulate", "openb", "--nodes", folder_, "--pods", "p"}, "is a directory"},
  };
  for (const auto& [words, says] : cases) expectRefused(words, 2, says);
  expectRefused(openb({"--json", path("no/such/folder.json")}), 1, "No such file or directory");
  expectRefused(plan({"--svg", path("no/such/folder.svg")}), 1, "No such file or directory");
  expectRefused({"simulate", "openb", "--nodes", path("none.csv"), "--pods", "p"}, 1,
                "reading " + path("none.csv") + ": No such file or directory");
  EXPECT_EQ(contents("out.json"), "as it was") << file;
}

// Nothing is half loaded, nothing half written.
TEST_F(Simulate, MalformedCsv_NamedWithLineAndOutputKept) {
  const std::string json = put("out.json", "as it was");
  Words words = openb({"--json", json});
  words[5] =
      put("bad.csv",
          "name,cpu_milli,memory_mib,num_gpu,gpu_milli\npod-0,1000,1,1,460\npod-1,1000,1,1,x\n");
  expectRefused(words, 2, words[5] + ":3:16: gpu_milli \"x\"; accepted: a whole number from 0");
  EXPECT_EQ(contents("out.json"), "as it was");
}

TEST_F(Simulate, Terminal_ProgressBarShownAndErased) {
  Words words = openb({"--policy", "fgd", "--seeds", "2"});
  words.insert(words.begin(), divvyProgram());
  Pty pty(words, {{"DIVVY_RUNTIME_DIR", sandbox_.root()}, {"TERM", "xterm"}, {"LC_ALL", "C"}}, 100,
          30);
  EXPECT_TRUE(pty.shows("2 of 2 runs"));
  EXPECT_TRUE(pty.shows("\r\x1b[K"));
  EXPECT_TRUE(pty.shows("ALLOC@100"));
}

}  // namespace
}  // namespace divvy::test
