// Evictions and disruption budgets: what a server may answer, and what that means.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include "http/server.h"
#include "kube/budget.h"
#include "kube/eviction.h"

namespace divvy::kube {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::chrono::seconds kBound{30};
constexpr const char* kByBudget =
    R"({"kind":"Status","status":"Failure","reason":"TooManyRequests",)"
    R"("message":"Cannot evict pod as it would violate the pod's disruption budget.",)"
    R"("details":{"causes":[{"reason":"DisruptionBudget","message":"needs 2"}]},"code":429})";

// A server that evicts as it is told.
class Evicting {
 public:
  explicit Evicting(std::function<http::Answer()> answer) {
    std::vector<http::Route> routes{
        {"POST", "/api/v1/namespaces/s/pods/p/eviction", 1000,
         [this, answer](http::Query query) -> asio::awaitable<http::Answer> {
           ++asked;
           body = query.body;
           co_return answer();
         }}};
    server_ = std::move(*http::Server::start(loop_.get_executor(), {}, std::move(routes)));
    Access access;
    access.host = "127.0.0.1";
    access.port = std::to_string(server_->port());
    access.tls = false;
    client_ = std::move(*Client::make(loop_.get_executor(), access));
  }

  Result<Eviction> evicted(bool still = true) {
    Result<Eviction> end = Error{ErrorCode::kInternal, "it never ended"};
    asio::co_spawn(
        loop_,
        [&]() -> asio::awaitable<void> {
          EvictionOptions ask{"s", "p", "u", [still] { return still; }};
          end = co_await evict(*client_, std::move(ask));
          loop_.stop();
        },
        asio::detached);
    loop_.run_for(kBound);
    return end;
  }

  int asked = 0;
  std::string body;

 private:
  asio::io_context loop_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<Client> client_;
};

TEST(Eviction, PodEvicted_RequestHasItsUid) {
  Evicting server([] { return http::Answer{201, "{}"}; });
  const Result<Eviction> end = server.evicted();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->end, EvictionOutcome::kEvicted);
  const json::value said = json::parse(server.body);
  EXPECT_EQ(said.at("kind"), "Eviction");
  EXPECT_EQ(said.at_pointer("/deleteOptions/preconditions/uid"), "u");
}

// 429 is "later" of any other call: that of a budget may be hours.
TEST(Eviction, BudgetForbids_ForbiddenWithoutRetry) {
  Evicting server([] { return http::Answer{429, kByBudget}; });
  const Result<Eviction> end = server.evicted();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->end, EvictionOutcome::kForbidden);
  EXPECT_NE(end->why.find("disruption budget"), std::string::npos);
  EXPECT_EQ(server.asked, 1);
}

TEST(Eviction, ServerBusy_Unavailable) {
  Evicting server([] {
    return http::Answer{429, R"({"reason":"TooManyRequests","message":"try again later"})"};
  });
  const Result<Eviction> end = server.evicted();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code(), ErrorCode::kUnavailable);
}

TEST(Eviction, AnswerStatus_GoneOrRefused) {
  struct Case {
    unsigned status;
    const char* body;
    EvictionOutcome end;
  };
  for (const Case& one :
       {Case{404, R"({"reason":"NotFound"})", EvictionOutcome::kGone},
        Case{409,
             R"({"reason":"Conflict","message":"Precondition failed: UID in precondition: u, )"
             R"(UID in object meta: v"})",
             EvictionOutcome::kGone},
        Case{409, R"({"reason":"Conflict","message":"the object has been modified"})",
             EvictionOutcome::kRefused},
        Case{403, R"({"reason":"Forbidden"})", EvictionOutcome::kRefused},
        Case{422, "not even JSON", EvictionOutcome::kRefused}}) {
    const Result<Eviction> end = evictionOf({one.status, one.body});
    ASSERT_TRUE(end) << one.status;
    EXPECT_EQ(end->end, one.end) << one.status << ' ' << one.body;
    EXPECT_FALSE(end->why.empty());
  }
  // Several budgets, or a server that is ill: nobody knows.
  EXPECT_EQ(evictionOf({500, "{}"}).error().code(), ErrorCode::kUnavailable);
}

TEST(Eviction, NoLongerWanted_NotSent) {
  Evicting server([] { return http::Answer{201, "{}"}; });
  EXPECT_FALSE(server.evicted(false));
  EXPECT_EQ(server.asked, 0);
}

DisruptionBudget budget(const char* selector) {
  const std::string text =
      std::string(R"({"metadata":{"name":"b","namespace":"s","uid":"u"},"spec":{)") + selector +
      R"(},"status":{"disruptionsAllowed":2}})";
  return *budgetOf(json::parse(text));
}

TEST(DisruptionBudget, Selector_CoversMatchingPods) {
  const Labels web{{"app", "web"}, {"tier", "front"}};
  EXPECT_EQ(budget("").allowed, 2);
  EXPECT_FALSE(budget("").covers("s", web));
  EXPECT_TRUE(budget(R"("selector":{})").covers("s", web));
  EXPECT_FALSE(budget(R"("selector":{})").covers("other", web));
  const auto by = [&](const char* selector) { return budget(selector).covers("s", web); };
  EXPECT_TRUE(by(R"("selector":{"matchLabels":{"app":"web"}})"));
  EXPECT_FALSE(by(R"("selector":{"matchLabels":{"app":"web","tier":"back"}})"));
  const auto when = [&](const std::string& one) {
    return by((R"("selector":{"matchExpressions":[)" + one + "]}").c_str());
  };
  EXPECT_TRUE(when(R"({"key":"app","operator":"In","values":["db","web"]})"));
  EXPECT_FALSE(when(R"({"key":"app","operator":"NotIn","values":["db","web"]})"));
  EXPECT_TRUE(when(R"({"key":"zone","operator":"NotIn","values":["a"]})"));
  EXPECT_TRUE(when(R"({"key":"tier","operator":"Exists"})"));
  EXPECT_FALSE(when(R"({"key":"tier","operator":"DoesNotExist"})"));
  EXPECT_FALSE(budgetOf(json::parse(
      R"({"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}})")));
}

}  // namespace
}  // namespace divvy::kube
