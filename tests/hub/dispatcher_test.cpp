// Nominations at a fake API server, with workers that the test plays.
#include "dispatch/dispatcher.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/rfc3339.h"
#include "base/rng.h"
#include "controller_fixture.h"

namespace divvy::hub {
namespace {

namespace json = boost::json;
using scheduler::Texts;
using std::chrono::seconds;
using Names = std::vector<std::string>;

std::string workloadPath(const std::string& name) {
  return "/apis/kueue.x-k8s.io/v1beta2/namespaces/lab/workloads/" + name;
}

// A worker with some free devices: each pod takes one. Nominated workloads take theirs when asked.
struct PlayedWorker {
  std::int64_t free = 0;
  bool answers = true, broken = false;
  std::size_t questions = 0;
};

class DispatcherTest : public scheduler::ControllerTest {
 protected:
  void SetUp() override {
    api.set(std::string(kube::kKueueChecksPath) + "/mk",
            {{"spec", json::object{{"controllerName", kube::kMultiKueueController},
                                   {"parameters", json::object{{"apiGroup", "kueue.x-k8s.io"},
                                                               {"kind", "MultiKueueConfig"},
                                                               {"name", "all"}}}}}});
    setConfig({"a", "b", "cloud"});
  }
  void TearDown() override {
    for (bool& one : hub_stopped) one = true;
    pass(seconds(5));
  }
  void setConfig(const Names& clusters) {
    api.set(std::string(kube::kMultiKueueConfigsPath) + "/all",
            {{"spec", json::object{{"clusters", json::array(clusters.begin(), clusters.end())}}}});
  }
  std::unique_ptr<Dispatcher> dispatcherOf(Dispatcher::Options options) {
    std::vector<WorkerPort> ports;
    for (auto& [name, worker] : workers) {
      PlayedWorker* one = &worker;
      ports.push_back({name, name == "cloud" ? WorkerPrice::kOnDemand : WorkerPrice::kPrivate,
                       [one] { return one->answers; },
                       [one](std::string list, std::size_t count) {
                         return answer(one, std::move(list), count);
                       }});
    }
    options.stopped = &hub_stopped.emplace_back(false);
    return std::make_unique<Dispatcher>(loop.get_executor(), *client, std::move(ports), options);
  }
  void begin(Dispatcher::Options options = {}) {
    dispatcher = dispatcherOf(options);
    dispatcher->start();
  }
  static boost::asio::awaitable<Result<std::vector<WorkloadFit>>> answer(PlayedWorker* worker,
                                                                         std::string list,
                                                                         std::size_t count) {
    ++worker->questions;
    if (worker->broken) co_return Error{ErrorCode::kUnavailable, "broken"};
    std::vector<WorkloadFit> fits;
    std::int64_t left = worker->free;
    const json::value question = json::parse(list);
    for (const json::value& item : question.at("items").as_array()) {
      const std::int64_t pods = item.at_pointer("/spec/podSets/0/count").as_int64();
      fits.push_back({pods <= left, pods <= left ? "" : "too few devices", false});
      if (pods <= left) left -= pods;
    }
    EXPECT_EQ(fits.size(), count);
    co_return fits;
  }
  // Kueue gives quota to a workload.
  void reserveQuota(const std::string& name, std::int64_t count, const Texts& annotations = {},
                    const char* operation = "Update") {
    const json::object set{
        {"name", "main"},
        {"count", count},
        {"template", scheduler::podJson({{"nvidia.com/gpu", "1"}}, annotations)}};
    json::object meta;
    meta["managedFields"] =
        json::array{json::object{{"manager", "kueue-admission"}, {"operation", operation}}};
    api.set(workloadPath(name),
            {{"metadata", std::move(meta)},
             {"spec", json::object{{"podSets", json::array{set}}}},
             {"status",
              json::object{{"conditions", json::array{json::object{{"type", "QuotaReserved"},
                                                                   {"status", "True"}}}},
                           {"admissionChecks",
                            json::array{json::object{{"name", "mk"}, {"state", "Pending"}}}}}}});
  }
  // MultiKueue chooses a cluster, in which the job takes devices.
  void choose(const std::string& name, const std::string& cluster) {
    json::object workload = *api.find(workloadPath(name));
    json::object& status = workload.at("status").as_object();
    status.erase("nominatedClusterNames");
    status["clusterName"] = cluster;
    workers.at(cluster).free -= workload.at("spec").at("podSets").at(0).at("count").as_int64();
    api.set(workloadPath(name), std::move(workload));
  }
  Names nominated(const std::string& name) const {
    Names names;
    const json::object& status = api.find(workloadPath(name))->at("status").as_object();
    if (const json::value* found = status.if_contains("nominatedClusterNames"))
      for (const json::value& one : found->as_array()) names.emplace_back(one.as_string());
    return names;
  }
  bool becomes(const std::string& name, const Names& wanted) {
    return until([&] { return nominated(name) == wanted; });
  }
  std::size_t writes(const std::string& name) const {
    return api.count("PATCH", workloadPath(name) + "/status");
  }
  Names events(const std::string& reason) const {
    Names messages;
    for (const std::string& path : api.paths("/api/v1/events"))
      if (const json::object& event = *api.find(path); event.at("reason").as_string() == reason)
        messages.emplace_back(event.at("message").as_string());
    return messages;
  }

  std::map<std::string, PlayedWorker> workers{{"a", {4}}, {"b", {8}}, {"cloud", {100}}};
  std::unique_ptr<Dispatcher> dispatcher;
  std::vector<std::unique_ptr<Dispatcher>> ended;  // and further ones
  std::deque<bool> hub_stopped;                    // by dispatcher, in the order of their start
};

TEST_F(DispatcherTest, QuotaReserved_ClusterThatFitsIsNominatedOnce) {
  begin();
  reserveQuota("small", 4);
  reserveQuota("large", 8);
  EXPECT_TRUE(becomes("small", {"a"}));
  EXPECT_TRUE(becomes("large", {"b"}));
  pass(seconds(10));
  EXPECT_EQ(writes("small"), 1u);
  EXPECT_EQ(writes("large"), 1u);
  ASSERT_TRUE(until([&] { return events("ClusterNominated").size() == 2; }));
  const Names told = events("ClusterNominated");
  EXPECT_TRUE(std::any_of(told.begin(), told.end(),
                          [](const std::string& one) {
                            return one == "b. a: too few devices; b: fits now; cloud: fits now";
                          }))
      << told[0] << told[1];
}

TEST_F(DispatcherTest, ManyAtOnce_NoClusterGetsMoreThanItHas) {
  begin();
  for (int i = 0; i < 12; ++i) reserveQuota("w" + std::to_string(i), 1);
  std::map<std::string, int> taken;
  ASSERT_TRUE(until([&] {
    taken.clear();
    for (int i = 0; i < 12; ++i)
      for (const std::string& cluster : nominated("w" + std::to_string(i))) ++taken[cluster];
    return taken["a"] + taken["b"] + taken["cloud"] == 12;
  }));
  EXPECT_EQ(taken["a"], 4);
  EXPECT_EQ(taken["b"], 8) << "none is sent to a paid cluster as others were tried before it";
  reserveQuota("one-more", 1);
  EXPECT_TRUE(becomes("one-more", {"cloud"})) << "devices of nominated workloads are taken";
}

TEST_F(DispatcherTest, NothingFits_EventThenAllPrivateOnes) {
  begin({.spill_after = seconds(3600)});
  reserveQuota("huge", 50);
  ASSERT_TRUE(until([&] { return !events("NoClusterFits").empty(); }));
  EXPECT_EQ(events("NoClusterFits").at(0),
            "a: too few devices; b: too few devices; cloud: on demand: not before the job has "
            "waited 3600 s");
  EXPECT_EQ(nominated("huge"), Names{});
  EXPECT_TRUE(becomes("huge", (Names{"a", "b"})));
  EXPECT_EQ(events("NoClusterFits").size(), 1u);
}

TEST_F(DispatcherTest, DevicesBecomeFree_NominatedWithin3s) {
  begin({.spill_after = seconds(3600)});
  reserveQuota("job", 9);
  pass(seconds(5));
  EXPECT_EQ(nominated("job"), Names{});
  workers.at("b").free = 9;
  EXPECT_TRUE(until([&] { return nominated("job") == Names{"b"}; }, seconds(3)));
}

TEST_F(DispatcherTest, NotAdmitted_FurtherClusterAfter20s) {
  begin();
  reserveQuota("job", 4);
  ASSERT_TRUE(becomes("job", {"a"}));
  pass(seconds(15));
  EXPECT_EQ(nominated("job"), Names{"a"});
  EXPECT_TRUE(becomes("job", (Names{"a", "b"})));
  EXPECT_TRUE(until([&] { return events("ClusterNominated").size() == 2; })) << "one for each";
}

TEST_F(DispatcherTest, HubStartsAnew_JobHasWaitedSinceItsQuota) {
  using std::chrono::system_clock;
  const auto waited = system_clock::now() - std::chrono::hours(1);
  reserveQuota("job", 9);
  json::object workload = *api.find(workloadPath("job"));
  workload.at("status").at("conditions").at(0).as_object()["lastTransitionTime"] =
      formatRfc3339(system_clock::to_time_t(waited));
  api.set(workloadPath("job"), std::move(workload));
  begin({.spill_after = seconds(3600)});
  EXPECT_TRUE(until([&] { return nominated("job") == Names{"cloud"}; }, seconds(5)));
}

TEST_F(DispatcherTest, ClusterChosen_NothingMoreIsWritten) {
  begin();
  reserveQuota("job", 4);
  ASSERT_TRUE(becomes("job", {"a"}));
  choose("job", "a");
  pass(seconds(60));
  EXPECT_EQ(writes("job"), 1u);
  EXPECT_EQ(dispatcher->waiting(), 0u);
}

TEST_F(DispatcherTest, JobNamesCluster_OnlyThatOne) {
  begin();
  reserveQuota("job", 1, {{"use.divvy.dev/cluster", "b"}});
  EXPECT_TRUE(becomes("job", {"b"}));
  reserveQuota("other", 1, {{"use.divvy.dev/cluster", "nowhere"}});
  ASSERT_TRUE(until([&] { return !events("NoClusterFits").empty(); }));
  pass(seconds(60));
  EXPECT_EQ(nominated("other"), Names{});
}

TEST_F(DispatcherTest, WorkersDoNotAnswer_OthersAreNominated) {
  workers.at("a").broken = true;
  workers.at("b").answers = false;
  begin();
  reserveQuota("job", 1);
  EXPECT_TRUE(becomes("job", {"cloud"}));
  EXPECT_EQ(workers.at("b").questions, 0u);
}

TEST_F(DispatcherTest, UnknownCluster_IsNamed) {
  setConfig({"stranger"});
  begin();
  reserveQuota("job", 1);
  ASSERT_TRUE(until([&] { return !events("NoClusterFits").empty(); }));
  EXPECT_EQ(events("NoClusterFits").at(0),
            "stranger: the hub does not know this cluster (--clusters)");
}

TEST_F(DispatcherTest, KueueApplies_NominatesNothingAndSaysWhy) {
  begin();
  reserveQuota("job", 1, {}, "Apply");
  ASSERT_TRUE(until([&] { return !events("CannotNominate").empty(); }));
  EXPECT_NE(events("CannotNominate").at(0).find("WorkloadRequestUseMergePatch"), std::string::npos);
  pass(seconds(30));
  EXPECT_EQ(writes("job"), 0u);
}

TEST_F(DispatcherTest, KueueAppliesAndPolicyClears_Nominates) {
  begin({.clears_nominations = true});
  reserveQuota("job", 1, {}, "Apply");
  EXPECT_TRUE(becomes("job", {"a"}));
}

TEST_F(DispatcherTest, TwoHubs_EachWorkloadIsNominatedOnce) {
  begin();
  Dispatcher& second = *ended.emplace_back(dispatcherOf({}));  // lives as long as its watches
  second.start();
  for (int i = 0; i < 8; ++i) reserveQuota("w" + std::to_string(i), 1);
  ASSERT_TRUE(until([&] {
    for (int i = 0; i < 8; ++i)
      if (nominated("w" + std::to_string(i)).size() != 1) return false;
    return true;
  }));
  pass(seconds(10));
  std::uint64_t nominations = 0;
  for (const Dispatcher* one : {dispatcher.get(), &second})
    for (const auto& [cluster, count] : one->counts().nominations) nominations += count;
  EXPECT_EQ(nominations, 8u) << "a write for an older version is refused";
}

TEST_F(DispatcherTest, WriteFails_IsRepeated) {
  begin();
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus, .status = 500});
  reserveQuota("job", 1);
  EXPECT_TRUE(becomes("job", {"a"}));
  EXPECT_EQ(dispatcher->counts().failed_writes, 1u);
}

// A hub that ends at any instant, and workloads that come, are chosen and end.
TEST_F(DispatcherTest, HubsStartAnew_EachWorkloadGetsACluster) {
  Rng rng(7);
  std::set<std::string> open;
  begin();
  for (int step = 0; step < 60; ++step) {
    if (ended.size() < 15 && rng.below(3) == 0) {
      hub_stopped.back() = true;  // its watches end later
      ended.push_back(std::move(dispatcher));
      begin();
    }
    const std::string name = "w" + std::to_string(step);
    reserveQuota(name, 1);
    open.insert(name);
    pass(std::chrono::milliseconds(100 + rng.below(1400)));
    for (auto one = open.begin(); one != open.end();) {
      const Names clusters = nominated(*one);
      if (clusters.empty() || rng.below(2) == 0) {
        ++one;
        continue;
      }
      choose(*one, clusters.front());
      one = open.erase(one);
    }
  }
  ASSERT_TRUE(until([&] {
    return std::all_of(open.begin(), open.end(),
                       [&](const std::string& one) { return !nominated(one).empty(); });
  }));
  for (const auto& [name, worker] : workers) EXPECT_GE(worker.free, 0) << name;
}

}  // namespace
}  // namespace divvy::hub
