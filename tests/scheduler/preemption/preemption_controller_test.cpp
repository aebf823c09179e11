// Evictions by a server that can be told what to answer: a plan that is broken, and what comes of
// it.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include "http/server.h"
#include "kube/registration.h"
#include "preemption/preemption_controller.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kBound{30};
constexpr engine::Instant kNever{std::int64_t{1} << 60};
constexpr const char* kByBudget =
    R"({"kind":"Status","reason":"TooManyRequests","message":"the budget needs 2",)"
    R"("details":{"causes":[{"reason":"DisruptionBudget"}]},"code":429})";

kube::Pod pod(const std::string& name, std::int64_t priority, const std::string& mebibytes) {
  kube::Pod made;
  made.meta.name = made.meta.uid = name;
  made.meta.namespace_name = "s";
  made.priority = priority;
  made.phase = kube::PodPhase::kRunning;
  made.grace = 0;
  kube::PodContainer container;
  container.name = "c";
  container.requests = {{"cpu", "1"}};
  container.limits = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", mebibytes}};
  made.containers.push_back(container);
  return made;
}

// A node with one device that `x` and `y` have between them, and an API server.
class PreemptionControllerTest : public ::testing::Test {
 protected:
  PreemptionControllerTest() {
    std::vector<http::Route> routes{
        {"GET", "/apis/policy/v1/poddisruptionbudgets", 0,
         [](http::Query query) -> asio::awaitable<http::Answer> {
           const bool watch = query.target.find("watch=") != std::string::npos;
           co_return http::Answer{
               200, watch ? "" : R"({"metadata":{"resourceVersion":"1"},"items":[]})"};
         }},
        route("POST", "/api/v1/namespaces/s/events",
              [] {
                return http::Answer{201, "{}"};
              }),
        route("PATCH", "/api/v1/namespaces/s/pods/p/status",
              [] {
                return http::Answer{200, "{}"};
              }),
        route("PATCH", "/api/v1/namespaces/s/pods/p",
              [this] {
                ++told;
                return http::Answer{200, "{}"};
              }),
    };
    for (const char* name : {"x", "y"})
      routes.push_back(route("POST", std::string("/api/v1/namespaces/s/pods/") + name + "/eviction",
                             [this, name] {
                               asked.emplace_back(name);
                               return evict ? evict() : http::Answer{201, "{}"};
                             }));
    server = std::move(*http::Server::start(loop.get_executor(), {}, std::move(routes)));
    kube::Access access;
    access.host = "127.0.0.1";
    access.port = std::to_string(server->port());
    access.tls = false;
    client = std::move(*kube::Client::make(loop.get_executor(), access));
    preemptor = std::make_unique<PreemptionController>(
        loop.get_executor(), *client, cache, counts,
        PreemptionController::Options{"divvy-scheduler", 0, [this] { return why_not; }, &stopped});
    EXPECT_TRUE(cache.setNode(node()));
    for (const char* name : {"x", "y"}) bind(pod(name, 1, "40000"));
    preemptor->start();
  }

  static http::Route route(const char* method, std::string path,
                           std::function<http::Answer()> answer) {
    return {method, std::move(path), 10'000,
            [answer](http::Query) -> asio::awaitable<http::Answer> { co_return answer(); }};
  }

  static kube::Node node() {
    kube::Node made;
    made.meta.name = made.meta.uid = "a";
    made.allocatable = {{"cpu", "8"}};
    kube::RegisteredDevice device;
    device.id = "GPU-a";
    device.count = 10;
    device.mebibytes = 80 << 10;
    device.cores = 100;
    device.type = "NVIDIA H100";
    device.healthy = true;
    made.meta.annotations["hami.io/node-nvidia-register"] = kube::encode({device});
    return made;
  }

  bool filterAndReserve(const kube::Pod& one) {
    const std::vector<std::string_view> names{"a"};
    const Result<FilterResult> choice = cache.filterAndReserve(one, names, kNever);
    if (choice && !choice->node) preemptor->refused(one, names);
    return choice && choice->node;
  }
  void bind(kube::Pod one) {
    ASSERT_TRUE(filterAndReserve(one));
    Result<BindPlan> assigned = cache.assume(one.meta.uid, "a", 1);
    ASSERT_TRUE(assigned);
    cache.finishBinding(one.meta.uid, BindOutcome::kBound);
    one.node = "a";
    one.meta.annotations = assigned->annotations;
    ASSERT_TRUE(cache.setPod(one));
    preemptor->onPodUpdate(one);
  }
  void gone(const std::string& uid) {
    cache.removePod(uid);
    preemptor->onPodDelete(uid);
  }

  bool until(const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + kBound;
    while (!so() && std::chrono::steady_clock::now() < end)
      loop.run_one_for(std::chrono::milliseconds(50));
    return so();
  }

  using Names = std::vector<std::string>;
  asio::io_context loop;
  vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  SchedulerCache cache{catalog, {}};
  PreemptionCounts counts;
  bool stopped = false;
  std::string why_not;
  Names asked;
  int told = 0;
  std::function<http::Answer()> evict;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<PreemptionController> preemptor;
};

TEST_F(PreemptionControllerTest, BudgetBreaksPlan_PlannedAgain) {
  evict = [this] {
    return asked.size() == 2 ? http::Answer{429, kByBudget} : http::Answer{201, "{}"};
  };
  const kube::Pod high = pod("p", 9, "80000");
  ASSERT_FALSE(filterAndReserve(high));
  ASSERT_TRUE(until([&] { return counts.broken == 1; }));
  EXPECT_EQ(asked, (Names{"x", "y"}));
  EXPECT_EQ(counts.forbidden, 1u);
  EXPECT_EQ(told, 0);
  // Who ends already is not asked again.
  ASSERT_TRUE(until([&] { return counts.planned == 2 && counts.evicted == 2; }));
  EXPECT_EQ(asked, (Names{"x", "y", "y"}));
  gone("x");
  EXPECT_FALSE(filterAndReserve(pod("small", 1, "1000")));
  gone("y");
  ASSERT_TRUE(until([&] { return told > 0; }));
  EXPECT_FALSE(filterAndReserve(pod("small", 1, "5000")));
  EXPECT_TRUE(filterAndReserve(high));
}

TEST_F(PreemptionControllerTest, NoLongerLeader_EvictsNoMore) {
  evict = [this] {
    why_not = "another leads";
    return http::Answer{201, "{}"};
  };
  ASSERT_FALSE(filterAndReserve(pod("p", 9, "80000")));
  ASSERT_TRUE(until([&] { return counts.unanswered == 1; }));
  EXPECT_EQ(asked, Names{"x"});
  // Nothing is kept for a pod that is another's business now.
  gone("x");
  ASSERT_TRUE(until([&] { return filterAndReserve(pod("small", 1, "1000")); }));
}

TEST_F(PreemptionControllerTest, PodIsGone_EvictionsStop) {
  evict = [this] {
    gone("p");
    return http::Answer{201, "{}"};
  };
  ASSERT_FALSE(filterAndReserve(pod("p", 9, "80000")));
  ASSERT_TRUE(until([&] { return counts.evicted == 1; }));
  // For the next one who is ending already is enough.
  ASSERT_FALSE(filterAndReserve(pod("q", 9, "40000")));
  ASSERT_TRUE(until([&] { return counts.planned == 2; }));
  EXPECT_EQ(asked, Names{"x"});
  gone("x");
  EXPECT_FALSE(filterAndReserve(pod("small", 1, "5000")));
  EXPECT_TRUE(filterAndReserve(pod("q", 9, "40000")));
}

}  // namespace
}  // namespace divvy::scheduler
