// What /metrics answers.
#include "metrics_endpoint.h"

#include <functional>

#include <boost/asio/post.hpp>

#include "controller_fixture.h"

namespace divvy::scheduler {
namespace {

class ExporterTest : public ControllerTest {
 protected:
  void addNode(const kube::Node& node) { ASSERT_TRUE(cache.setNode(node)); }
  http::Answer metrics() { return run(exporter.route().answer({"/metrics", "", ""})); }
  // Value of the sample that begins so; empty: there is none.
  static std::string sample(const std::string& text, const std::string& begin) {
    const std::size_t at = text.find('\n' + begin + ' ');
    if (at == std::string::npos) return "";
    const std::size_t value = at + begin.size() + 2;
    return text.substr(value, text.find('\n', value) - value);
  }

  std::function<void()> sampled = [] {};
  Exporter exporter{loop.get_executor(),
                    cache,
                    counts,
                    {.further = {.compat = true, .deprecated = false},
                     .ready = [this] { return why_not.empty(); },
                     .api_calls =
                         [this] {
                           sampled();
                           return std::uint64_t{7};
                         }}};
};

TEST_F(ExporterTest, Route_AnswersWithCountersAndDevices) {
  addNode(nodeWith("hygon"));
  counts.bound = 3;
  const http::Route route = exporter.route();
  EXPECT_EQ(route.method, "GET");
  EXPECT_EQ(route.path, "/metrics");
  const http::Answer answer = metrics();
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.type, metrics::kTextType);
  EXPECT_EQ(sample(answer.body, "divvy_scheduler_ready"), "1");
  EXPECT_EQ(sample(answer.body, "divvy_scheduler_api_calls_total"), "7");
  EXPECT_EQ(sample(answer.body, R"(divvy_scheduler_binds_total{answer="bound"})"), "3");
  EXPECT_NE(answer.body.find(R"(uuid="DCU-0")"), std::string::npos);
}

TEST_F(ExporterTest, NotLeader_IsNotReady) {
  why_not = "another leads";
  EXPECT_EQ(sample(metrics().body, "divvy_scheduler_ready"), "0");
}

// It looks at 128 nodes in one go: others run meanwhile.
TEST_F(ExporterTest, NodeGoneMeanwhile_AnswersWithTheRest) {
  kube::Node node = nodeWith("hygon");
  for (int at = 100; at < 400; ++at) {
    node.meta.name = node.meta.uid = "n" + std::to_string(at);
    addNode(node);
  }
  sampled = [this] { boost::asio::post(loop, [this] { cache.removeNode("n399", "n399"); }); };
  const http::Answer answer = metrics();
  EXPECT_EQ(answer.status, 200u);
  EXPECT_NE(answer.body.find(R"(node="n398")"), std::string::npos);
  EXPECT_EQ(answer.body.find(R"(node="n399")"), std::string::npos);
}

TEST_F(ExporterTest, HostileModel_StartsNoLine) {
  kube::Node node = nodeWith("nvidia");
  std::string& text = node.meta.annotations.at("hami.io/node-nvidia-register");
  for (std::size_t at; (at = text.find("NVIDIA H100 80GB HBM3")) != std::string::npos;)
    text.replace(at, 21, R"(x\"} 1\ndivvy_forged 1\n\\)");
  const Result<void> set = cache.setNode(node);
  const http::Answer answer = metrics();
  EXPECT_EQ(answer.body.find("\ndivvy_forged"), std::string::npos) << answer.body;
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_NE(answer.body.find("divvy_forged"), std::string::npos);
}

}  // namespace
}  // namespace divvy::scheduler
