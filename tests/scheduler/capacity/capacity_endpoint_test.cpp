// What /capacity and /fit answer: against what the cache then reserves.
#include "capacity/capacity_endpoint.h"

#include <boost/asio/detached.hpp>

#include "controller_fixture.h"
#include "runtime/clock.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

const Texts kQuarter{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "20480"}};

class CapacityEndpointTest : public ControllerTest {
 protected:
  void SetUp() override { boost::asio::co_spawn(loop, endpoint.run(), boost::asio::detached); }
  void TearDown() override {
    stopped = true;
    pass(std::chrono::seconds(5));
  }

  // A node with devices of 80 GiB.
  void addNode(const std::string& name, unsigned devices,
               const kube::Quantities& allocatable = {}) {
    api.set(nodePath(name), deviceNodeJson(name, devices));
    kube::Node node = nodeAt(nodePath(name));
    for (const auto& [resource, amount] : allocatable) node.allocatable[resource] = amount;
    ASSERT_TRUE(cache.setNode(node));
  }
  static kube::Pod podOf(const std::string& name, const Texts& limits, const Texts& requests = {},
                         std::int64_t priority = 0) {
    kube::Pod pod = podNamed(name, limits);
    pod.priority = priority;
    for (const auto& [resource, amount] : requests)
      pod.containers.at(0).requests[resource] = amount;
    return pod;
  }
  void seen(const kube::Pod& pod) { endpoint.onPodUpdate(pod); }

  http::Answer ask(const std::string& path, const std::string& body = "") {
    for (const http::Route& route : endpoint.routes())
      if (route.path == path) return run(route.answer({path, "application/json", body}));
    throw std::runtime_error("no route " + path);
  }
  json::value report() {
    until([&] { return ask("/capacity").status == 200; });
    return json::parse(ask("/capacity").body);
  }
  json::value shapeNow() {
    // A round that began before is the last one without the change.
    pass(std::chrono::seconds(6));
    return report().at("shapes").as_array().at(0);
  }
  json::value fit(const Texts& limits, const Texts& requests = {}) {
    pass(std::chrono::seconds(1));
    json::object pod = podJson(limits);
    json::object& container = pod.at("spec").at("containers").as_array().at(0).as_object();
    json::object amounts;
    for (const auto& [name, value] : requests) amounts[name] = value;
    container["resources"].as_object()["requests"] = amounts;
    const http::Answer answer = ask("/fit", json::serialize(pod));
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return json::parse(answer.body);
  }

  std::vector<kube::KueueWorkload> asked;  // by the last list
  std::vector<FitAnswer> fits;             // what is answered to it
  RunningPods running;
  CapacityEndpoint endpoint{
      loop.get_executor(),
      cache,
      running,
      {"divvy", "replica-1", whyNot(), &stopped,
       [this](const std::vector<kube::KueueWorkload>& workloads, const std::function<bool()>&) {
         asked = workloads;
         return fits;
       }}};
};

TEST_F(CapacityEndpointTest, ShapeOfAPod_IsCountedAndFollowsTheState) {
  addNode("a", 2);
  addNode("b", 1);
  seen(podOf("p", kQuarter));
  json::value shape = shapeNow();
  EXPECT_EQ(shape.at("fit"), 12) << "four a device";
  EXPECT_EQ(shape.at("pods"), 1);
  EXPECT_EQ(
      shape.at("containers").as_array().at(0),
      json::value({{"gpus", 1}, {"memory_bytes", std::uint64_t{20} << 30}, {"kind", "NVIDIA"}}));
  const std::vector<std::string_view> nodes{"a", "b"};
  std::uint64_t placed = 0;
  for (;; ++placed) {
    const auto choice = cache.filterAndReserve(podOf("c" + std::to_string(placed), kQuarter), nodes,
                                               {now().ms + 10'000'000});
    ASSERT_TRUE(choice);
    if (!choice->node) break;
    if (placed == 4) {
      EXPECT_EQ(shapeNow().at("fit"), 7);
    }
  }
  EXPECT_EQ(placed, 12u);
  EXPECT_EQ(shapeNow().at("fit"), 0);
}

TEST_F(CapacityEndpointTest, CpuAndPods_LimitTheCount) {
  addNode("a", 2, {{"cpu", "8"}, {"memory", "64Gi"}, {"pods", "110"}});
  addNode("b", 2, {{"cpu", "64"}, {"pods", "3"}});
  EXPECT_EQ(fit(kQuarter).at("fit"), 11) << "8 and 3 pods";
  EXPECT_EQ(fit(kQuarter, {{"cpu", "3"}}).at("fit"), 2 + 3);
  Texts limits = kQuarter;
  limits["cpu"] = "3";
  EXPECT_EQ(fit(limits).at("fit"), 2 + 3) << "requests that are absent are as the limits";
  EXPECT_EQ(fit(limits, {{"cpu", "1"}}).at("fit"), 8 + 3);
  kube::Pod other = podOf("other", {}, {{"cpu", "4"}});
  other.node = "a";
  ASSERT_TRUE(running.set(other));
  EXPECT_EQ(fit(kQuarter, {{"cpu", "3"}}).at("fit"), 1 + 3);
  EXPECT_EQ(fit(kQuarter, {{"memory", "30Gi"}}).at("fit"), 2 + 3);
}

TEST_F(CapacityEndpointTest, LowerPriority_CountsAsGoneAfterEviction) {
  addNode("a", 1);
  const std::vector<std::string_view> nodes{"a"};
  for (const auto& [name, priority] : {std::pair("low", -10), std::pair("high", 100)}) {
    kube::Pod pod =
        podOf(name, {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "40960"}}, {}, priority);
    ASSERT_TRUE(cache.filterAndReserve(pod, nodes, {now().ms + 10'000'000})->node);
    pod.node = "a";
    ASSERT_TRUE(running.set(pod));
  }
  seen(podOf("p", kQuarter, {}, 0));
  const json::value shape = shapeNow();
  EXPECT_EQ(shape.at("fit"), 0);
  EXPECT_EQ(shape.at("fit_after_eviction"), 2) << "40 GiB of the pod of lower priority";
}

TEST_F(CapacityEndpointTest, Models_AreSums) {
  addNode("a", 2);
  addNode("b", 3);
  const std::vector<std::string_view> nodes{"a"};
  ASSERT_TRUE(cache.filterAndReserve(podOf("p", kQuarter), nodes, {now().ms + 10'000'000})->node);
  pass(std::chrono::seconds(6));
  const json::value said = report();
  ASSERT_EQ(said.at("models").as_array().size(), 1u);
  const json::value& model = said.at("models").as_array()[0];
  EXPECT_EQ(model.at("devices"), 5);
  EXPECT_EQ(model.at("idle"), 4);
  EXPECT_EQ(model.at("allocated_bytes"), std::uint64_t{20} << 30);
  EXPECT_EQ(said.at("identity").as_string(), "replica-1");
}

TEST_F(CapacityEndpointTest, NothingChanges_TagStays) {
  addNode("a", 1);
  seen(podOf("p", kQuarter));
  pass(std::chrono::seconds(6));
  const http::Answer before = ask("/capacity");
  pass(std::chrono::seconds(10));
  const http::Answer after = ask("/capacity");
  EXPECT_EQ(*before.fields.find("ETag"), *after.fields.find("ETag"));
  EXPECT_NE(before.body, after.body) << "the instant differs";
  addNode("b", 1);
  pass(std::chrono::seconds(6));
  EXPECT_NE(*ask("/capacity").fields.find("ETag"), *before.fields.find("ETag"));
}

TEST_F(CapacityEndpointTest, NotLeading_NoAnswer) {
  why_not = "another replica leads";
  pass(std::chrono::seconds(6));
  for (const char* path : {"/capacity", "/fit"}) {
    const http::Answer answer = ask(path, "{}");
    EXPECT_EQ(answer.status, 503u);
    EXPECT_NE(answer.body.find("another replica leads"), std::string::npos);
  }
}

TEST_F(CapacityEndpointTest, BadQuestions_RefusedWithReason) {
  addNode("a", 1);
  const struct {
    std::string body, words;
  } cases[] = {{"no json", "accepted: a Pod"},
               {"[]", ""},
               {json::serialize(podJson({})), "requests no devices"},
               {json::serialize(podJson({{"nvidia.com/gpu", "-1"}})), ""}};
  for (const auto& one : cases) {
    pass(std::chrono::seconds(1));
    const http::Answer answer = ask("/fit", one.body);
    EXPECT_EQ(answer.status, 400u) << one.body << answer.body;
    EXPECT_NE(answer.body.find(one.words), std::string::npos) << answer.body;
  }
}

TEST_F(CapacityEndpointTest, ListOfWorkloads_EachIsAnswered) {
  const json::object set{{"name", "main"}, {"count", 2}, {"template", podJson(kQuarter)}};
  const json::object workload{{"metadata", json::object{{"name", "w"}, {"namespace", "lab"}}},
                              {"spec", json::object{{"podSets", json::array{set}}}}};
  const json::object list{{"kind", "List"}, {"items", json::array{workload, workload}}};
  pass(std::chrono::seconds(1));
  fits = {{true, ""}, {false, "full"}, {std::nullopt, "not tried"}};
  const http::Answer answer = ask("/fit", json::serialize(list));
  ASSERT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(answer.body, R"({"items":[{"fits":true,"why":null,"never":false},)"
                         R"({"fits":false,"why":"full","never":false},)"
                         R"({"fits":null,"why":"not tried","never":false}]})");
  ASSERT_EQ(asked.size(), 2u);
  // A reason that has an annotation of a tenant in it, cut within no character.
  std::string hostile = "x";
  for (int i = 0; i < 10'000; ++i) hostile += "\u00e9";
  fits = {{false, hostile}, {true, ""}, {true, ""}};
  pass(std::chrono::seconds(1));
  const json::value rows = json::parse(ask("/fit", json::serialize(list)).body).at("items");
  EXPECT_EQ(rows.at(0).at("why").as_string().size(), 299u);
  EXPECT_EQ(asked[0].pod_sets.at(0).count, 2);
}

TEST_F(CapacityEndpointTest, BadLists_RefusedWithReason) {
  const struct {
    std::string body, words;
  } cases[] = {{R"({"kind": "List"})", "at most 128 Workloads"},
               {R"({"kind": "List", "items": 3})", "at most 128 Workloads"},
               {json::serialize(json::object{{"kind", "List"}, {"items", json::array(129, 1)}}),
                "at most 128 Workloads"},
               {R"({"kind": "List", "items": [{"metadata": 3}]})", "items[0]: "}};
  for (const auto& one : cases) {
    pass(std::chrono::seconds(1));
    const http::Answer answer = ask("/fit", one.body);
    EXPECT_EQ(answer.status, 400u) << one.body;
    EXPECT_NE(answer.body.find(one.words), std::string::npos) << answer.body;
  }
  EXPECT_TRUE(asked.empty());
}

TEST_F(CapacityEndpointTest, ManyQuestions_OneEach100Ms) {
  addNode("a", 1);
  pass(std::chrono::seconds(1));
  const std::string pod = json::serialize(podJson(kQuarter));
  EXPECT_EQ(ask("/fit", pod).status, 200u);
  EXPECT_EQ(ask("/fit", pod).status, 429u);
  pass(std::chrono::milliseconds(200));
  EXPECT_EQ(ask("/fit", pod).status, 200u);
}

}  // namespace
}  // namespace divvy::scheduler
