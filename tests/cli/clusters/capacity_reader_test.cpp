// Schedulers of several clusters, behind API servers that a test plays.
#include "clusters/capacity_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "http/server.h"

namespace divvy::cli {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr const char* kProxy =
    "/api/v1/namespaces/divvy-system/services/divvy-scheduler:metrics/proxy";

// An API server with a proxy that leads to a scheduler.
class ServedScheduler {
 public:
  using Answers = std::function<http::Answer(const http::Query&)>;

  explicit ServedScheduler(Answers answers, std::chrono::milliseconds delay = {})
      : answers_(std::move(answers)), delay_(delay) {
    const auto serve = [this](http::Query query) -> asio::awaitable<http::Answer> {
      ++asked_;
      asio::steady_timer pause(loop_, delay_);
      co_await pause.async_wait(asio::use_awaitable);
      co_return answers_(query);
    };
    auto server = http::Server::start(loop_.get_executor(), {"127.0.0.1", 0, {}, {}},
                                      {{"GET", std::string(kProxy) + "/capacity", 0, serve},
                                       {"POST", std::string(kProxy) + "/fit", 1 << 20, serve}});
    if (!server) throw std::runtime_error(server.error().message());
    server_ = std::move(*server);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~ServedScheduler() {
    asio::post(loop_, [this] {
      server_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  ServedScheduler(const ServedScheduler&) = delete;
  ServedScheduler& operator=(const ServedScheduler&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  unsigned asked() const { return asked_; }

 private:
  Answers answers_;
  std::chrono::milliseconds delay_;
  std::atomic<unsigned> asked_ = 0;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_{loop_.get_executor()};
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

http::Answer capacityWith(int devices) {
  http::Answer answer;
  answer.body = json::serialize(
      json::object{{"version", 1},
                   {"at_ms", 1},
                   {"models", json::array{json::object{{"model", "H100"}, {"devices", devices}}}}});
  return answer;
}

class CapacityReaderTest : public ::testing::Test {
 protected:
  CapacityReaderTest() {
    std::string form = std::filesystem::temp_directory_path() / "divvy-clusters-XXXXXX";
    folder = mkdtemp(form.data());
  }
  ~CapacityReaderTest() override { std::filesystem::remove_all(folder); }

  ClustersOptions clusters(const std::vector<std::pair<std::string, std::string>>& urls) const {
    json::array contexts, entries;
    for (const auto& [name, url] : urls) {
      contexts.push_back(
          json::object{{"name", name}, {"context", json::object{{"cluster", name}}}});
      entries.push_back(json::object{{"name", name}, {"cluster", json::object{{"server", url}}}});
    }
    const std::string path = folder / "config";
    std::ofstream(path) << json::serialize(
        json::object{{"current-context", ""}, {"contexts", contexts}, {"clusters", entries}});
    ClustersOptions options;
    options.connection.kubeconfig = path;
    return options;
  }
  std::filesystem::path folder;
};

TEST_F(CapacityReaderTest, AllContexts_ReadInTheirOrder) {
  ServedScheduler one([](const auto&) { return capacityWith(8); });
  ServedScheduler two([](const auto&) { return capacityWith(3); });
  const auto found = readCapacities(
      clusters({{"b", one.url()}, {"a", two.url()}, {"gone", "http://127.0.0.1:1"}}), nullptr);
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ((*found)[0].name, "b");
  EXPECT_EQ((*found)[0].models.at(0).devices, 8u);
  EXPECT_EQ((*found)[1].models.at(0).devices, 3u);
  EXPECT_FALSE((*found)[0].asked);
  EXPECT_FALSE((*found)[2].problem.empty());
}

TEST_F(CapacityReaderTest, Question_IsAskedOfEach) {
  ServedScheduler one([](const http::Query& query) {
    if (query.method == "GET") return capacityWith(8);
    http::Answer answer;
    const json::value pod = json::parse(query.body);
    answer.body = pod.at("kind") == "Pod" ? R"({"fit":5,"fit_after_eviction":null})" : "{}";
    return answer;
  });
  const json::object pod{{"kind", "Pod"}};
  const auto found = readCapacities(clusters({{"a", one.url()}}), &pod);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].problem, "");
  ASSERT_TRUE((*found)[0].asked);
  EXPECT_EQ((*found)[0].asked->fit, 5u);
  EXPECT_FALSE((*found)[0].asked->after_eviction);
}

// A Service leads to a replica that does not lead as often as to the one that does.
TEST_F(CapacityReaderTest, OtherReplicaAnswers_IsAskedAgain) {
  std::atomic<unsigned> count = 0;
  ServedScheduler one([&](const auto&) {
    return ++count < 4 ? http::plainText(503, "this replica does not lead") : capacityWith(8);
  });
  const auto found = readCapacities(clusters({{"a", one.url()}}), nullptr);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].problem, "");
  EXPECT_EQ(count, 4u);
}

TEST_F(CapacityReaderTest, SchedulerIsBusy_IsAskedAgainLater) {
  std::atomic<unsigned> count = 0;
  ServedScheduler one([&](const auto&) {
    return ++count < 2 ? http::plainText(429, "other questions are in progress") : capacityWith(8);
  });
  const auto found = readCapacities(clusters({{"a", one.url()}}), nullptr);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].problem, "");
  EXPECT_EQ(count, 2u);
}

TEST_F(CapacityReaderTest, Refusals_AreProblemsOfTheirCluster) {
  ServedScheduler none([](const auto&) { return http::plainText(503, "not counted yet"); });
  ServedScheduler closed([](const auto&) { return http::plainText(403, "no services/proxy"); });
  ServedScheduler absent([](const auto&) { return http::plainText(404, "services not found"); });
  ServedScheduler odd([](const auto&) { return http::plainText(200, "<html>"); });
  const auto found = readCapacities(clusters({{"none", none.url()},
                                              {"closed", closed.url()},
                                              {"absent", absent.url()},
                                              {"odd", odd.url()}}),
                                    nullptr);
  ASSERT_TRUE(found);
  const char* words[] = {"not counted yet", "403", "--divvy-namespace", "no JSON object"};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NE((*found)[i].problem.find(words[i]), std::string::npos) << (*found)[i].problem;
  EXPECT_EQ(closed.asked(), 1u) << "a refusal is not asked again";
  EXPECT_EQ(none.asked(), 8u) << "and another replica not for ever";
}

TEST_F(CapacityReaderTest, SilentCluster_DelaysNoOther) {
  ServedScheduler slow([](const auto&) { return capacityWith(1); }, std::chrono::seconds(30));
  ServedScheduler quick([](const auto&) { return capacityWith(8); });
  ClustersOptions options = clusters({{"slow", slow.url()}, {"quick", quick.url()}});
  options.connection.bound_ms = 300;
  const auto begin = std::chrono::steady_clock::now();
  const auto found = readCapacities(options, nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  ASSERT_TRUE(found);
  EXPECT_NE((*found)[0].problem, "");
  EXPECT_EQ((*found)[1].problem, "");
}

TEST_F(CapacityReaderTest, BadOptions_RefusedWithAccepted) {
  ClustersOptions options = clusters({});
  EXPECT_NE(readCapacities(options, nullptr).error().message().find("no context"),
            std::string::npos);
  options = clusters({{"a", "http://127.0.0.1:1"}});
  options.namespace_name = "../secrets";
  EXPECT_NE(readCapacities(options, nullptr).error().message().find("not the name"),
            std::string::npos);
  options = clusters({{"a", "http://127.0.0.1:1"}});
  options.contexts = {"other"};
  const auto found = readCapacities(options, nullptr);
  ASSERT_TRUE(found);
  EXPECT_NE((*found)[0].problem.find("has no context \"other\""), std::string::npos);
}

}  // namespace
}  // namespace divvy::cli
