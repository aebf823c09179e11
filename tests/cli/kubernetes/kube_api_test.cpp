// Lists as the command line keeps them, from a server of ours.
#include "kubernetes/kube_api.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include "fake_cluster.h"
#include "http/server.h"

namespace divvy::cli {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// Two pages of a hundred pods each.
std::string page(bool first) {
  json::array items;
  for (int i = 0; i < 100; ++i)
    items.push_back(json::object{{"metadata", json::object{{"name", std::string(200, 'n')}}}});
  json::object meta{{"resourceVersion", "7"}};
  if (first) meta["continue"] = "more";
  return json::serialize(json::object{{"metadata", std::move(meta)}, {"items", std::move(items)}});
}

// Pages are parsed into memory that ends with them: divvy explain read what was not there any more.
TEST(KubeApi, ListOfTwoPages_ItemsOutlivePages) {
  asio::io_context loop(1);
  const http::Route pods{"GET", "/api/v1/pods", 0,
                         [](http::Query query) -> asio::awaitable<http::Answer> {
                           const bool first = query.target.find("continue") == std::string::npos;
                           co_return http::Answer{200, page(first)};
                         }};
  const Result<std::unique_ptr<http::Server>> server =
      http::Server::start(loop.get_executor(), {}, {pods});
  ASSERT_TRUE(server) << server.error().message();
  std::thread serving([&] { loop.run(); });
  kube::Access access;
  access.host = "127.0.0.1";
  access.port = std::to_string((*server)->port());
  access.tls = false;
  const Result<std::unique_ptr<KubeApi>> api = KubeApi::open(access);
  ASSERT_TRUE(api) << api.error().message();
  std::size_t count = 0;
  const Result<void> listed = (*api)->list("/api/v1/pods", "", [&](const json::value& item) {
    ++count;
    EXPECT_EQ(item.storage(), json::storage_ptr());
    EXPECT_EQ(item.at("metadata").at("name").as_string().size(), 200u);
  });
  loop.stop();
  serving.join();
  EXPECT_TRUE(listed) << listed.error().message();
  EXPECT_EQ(count, 200u);
}

// Regression: "listing /api/v1/pods: listing /api/v1/pods: ...".
TEST(KubeApi, ListFails_PathNamedOnce) {
  const test::FakeCluster cluster(
      {{"/api/v1/pods", {403, R"({"kind":"Status","message":"pods is forbidden"})"}},
       {"/api/v1/nodes", {200, "no list"}}});
  ConnectionOptions connection;
  connection.kubeconfig = cluster.kubeconfig();
  const Result<std::unique_ptr<KubeApi>> api = KubeApi::open(connection);
  ASSERT_TRUE(api) << api.error().message();
  for (const auto& [path, why] :
       {std::pair("/api/v1/pods", "pods is forbidden"),
        std::pair("/api/v1/nodes", "the answer is not a list"), std::pair("/api/v1/none", "404")}) {
    const Result<void> listed = (*api)->list(path, "", [](const json::value&) {});
    ASSERT_FALSE(listed) << path;
    const std::string said = listed.error().message();
    EXPECT_EQ(said.find(std::string("listing ") + path + ": "), 0u) << said;
    EXPECT_EQ(said.find("listing", 1), std::string::npos) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace divvy::cli
