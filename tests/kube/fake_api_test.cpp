// The fake API server answers as its contract says: what tests of controllers rely on.
#include "fake_api.h"

#include <gtest/gtest.h>

#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/client.h"

namespace divvy::test {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using kube::Reply;
using kube::Verb;

constexpr const char* kPod = "/api/v1/namespaces/lab/pods/p";
constexpr const char* kNode = "/api/v1/nodes/n";

template <typename T>
asio::awaitable<void> keep(asio::awaitable<T> what, std::optional<T>* out) {
  out->emplace(co_await std::move(what));
}

class FakeApiTest : public ::testing::Test {
 protected:
  FakeApiTest() {
    kube::Access access;
    access.host = "127.0.0.1";
    access.port = std::to_string(api.port());
    access.tls = false;
    client = std::move(
        *kube::Client::make(loop.get_executor(), access, {1e6, 1e6, std::chrono::seconds(30), 1}));
    api.set(kPod, json::object{{"spec", json::object{{"nodeName", ""}}},
                               {"status", json::object{{"phase", "Pending"}}}});
    api.set(kNode, json::object{});
  }
  template <typename So>
  void until(const So& so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!so() && std::chrono::steady_clock::now() < end) {
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(so());
  }
  Result<Reply> send(Verb verb, const std::string& path, const std::string& body = "",
                     const char* type = kube::kJson) {
    kube::Call call{verb, path};
    call.body = body;
    call.type = type;
    std::optional<Result<Reply>> reply;
    asio::co_spawn(loop, keep(client->send(std::move(call)), &reply), asio::detached);
    until([&] { return reply.has_value(); });
    return *reply;
  }
  unsigned patch(const std::string& path, const std::string& body,
                 const char* type = kube::kMergePatch) {
    return send(Verb::kPatch, path, body, type)->status;
  }
  static std::string version(const json::object& object) {
    return std::string(object.at("metadata").at("resourceVersion").as_string());
  }

  asio::io_context loop{1};
  FakeApi api{loop.get_executor()};
  std::unique_ptr<kube::Client> client;
};

TEST_F(FakeApiTest, UnknownPaths_Get404) {
  EXPECT_EQ(send(Verb::kGet, "/api/v1/namespaces/lab/pods/none")->status, 404u);
  EXPECT_EQ(send(Verb::kGet, "/apis/none.dev/v1/things")->status, 404u);
  EXPECT_EQ(send(Verb::kGet, "/api")->status, 404u);
  EXPECT_EQ(patch("/api/v1/nodes/none", "{}"), 404u);
  EXPECT_EQ(send(Verb::kPost, kNode)->status, 405u);
}

TEST_F(FakeApiTest, Write_MakesNewVersionUnlessNothingChanges) {
  const std::string first = version(*api.find(kPod));
  EXPECT_EQ(patch(kPod, R"({"metadata":{"labels":{"a":"b"}}})"), 200u);
  const std::string second = version(*api.find(kPod));
  EXPECT_NE(first, second);
  EXPECT_EQ(patch(kPod, R"({"metadata":{"labels":{"a":"b"}}})"), 200u);
  EXPECT_EQ(version(*api.find(kPod)), second);
  EXPECT_TRUE(api.calls("PATCH", kPod)[0].changed);
  EXPECT_FALSE(api.calls("PATCH", kPod)[1].changed);
}

TEST_F(FakeApiTest, OtherVersionOrUid_Gets409) {
  const std::string now = version(*api.find(kPod));
  EXPECT_EQ(patch(kPod, R"({"metadata":{"resourceVersion":"1","labels":{"a":"b"}}})"), 409u);
  EXPECT_EQ(patch(kPod, R"({"metadata":{"uid":"other","labels":{"a":"b"}}})"), 409u);
  EXPECT_EQ(version(*api.find(kPod)), now);
  EXPECT_EQ(patch(kPod, R"({"metadata":{"uid":"uid-of-p","resourceVersion":")" + now +
                            R"(","labels":{"a":"b"}}})"),
            200u);
  json::object lease{{"metadata", json::object{{"name", "n"}, {"resourceVersion", "1"}}}};
  EXPECT_EQ(send(Verb::kPut, kNode, json::serialize(lease))->status, 409u);
  lease["metadata"].as_object()["resourceVersion"] = version(*api.find(kNode));
  EXPECT_EQ(send(Verb::kPut, kNode, json::serialize(lease))->status, 200u);
}

TEST_F(FakeApiTest, JsonPatch_IsAppliedAsAWholeOrNotAtAll) {
  EXPECT_EQ(patch(kPod, R"([{"op":"add","path":"/metadata/annotations","value":{"x/y":"1"}}])",
                  kube::kJsonPatch),
            200u);
  EXPECT_EQ(api.annotation(kPod, "x/y"), "1");
  EXPECT_EQ(patch(kPod,
                  R"([{"op":"replace","path":"/metadata/annotations/x~1y","value":"2"},
                      {"op":"test","path":"/metadata/uid","value":"other"}])",
                  kube::kJsonPatch),
            422u);
  EXPECT_EQ(api.annotation(kPod, "x/y"), "1");
  EXPECT_EQ(
      patch(kPod, R"([{"op":"replace","path":"/metadata/none","value":1}])", kube::kJsonPatch),
      422u);
  EXPECT_EQ(
      patch(kPod, R"([{"op":"remove","path":"/metadata/annotations/x~1y"}])", kube::kJsonPatch),
      200u);
  EXPECT_EQ(api.annotation(kPod, "x/y"), "");
  EXPECT_EQ(patch(kPod, "{", kube::kJsonPatch), 400u);
  EXPECT_EQ(patch(kPod, "{}", "text/plain"), 415u);
}

TEST_F(FakeApiTest, StrategicPatch_MergesConditionsAndGates) {
  json::object pod = *api.find(kPod);
  pod["spec"] = json::parse(R"({"schedulingGates":[{"name":"a"},{"name":"b"}]})");
  api.set(kPod, pod);
  EXPECT_EQ(patch(kPod, R"({"spec":{"schedulingGates":[{"$patch":"delete","name":"a"}]}})",
                  kube::kStrategicPatch),
            200u);
  EXPECT_EQ(api.find(kPod)->at("spec"), json::parse(R"({"schedulingGates":[{"name":"b"}]})"));
  for (const char* status : {"True", "False"})
    EXPECT_EQ(patch(std::string(kPod) + "/status",
                    std::string(R"({"status":{"conditions":[{"type":"t","status":")") + status +
                        R"("}]}})",
                    kube::kStrategicPatch),
              200u);
  EXPECT_EQ(api.find(kPod)->at("status").at("conditions"),
            json::parse(R"([{"type":"t","status":"False"}])"));
}

TEST_F(FakeApiTest, Status_IsWrittenThroughItsOwnPathOnly) {
  EXPECT_EQ(patch(kPod, R"({"status":{"phase":"Running"}})"), 200u);
  EXPECT_EQ(api.find(kPod)->at("status").at("phase").as_string(), "Pending");
  EXPECT_EQ(patch(std::string(kPod) + "/status",
                  R"({"status":{"phase":"Running"},"spec":{"nodeName":"n"}})"),
            200u);
  EXPECT_EQ(api.find(kPod)->at("status").at("phase").as_string(), "Running");
  EXPECT_EQ(api.find(kPod)->at("spec").at("nodeName").as_string(), "");
}

TEST_F(FakeApiTest, Binding_IsMadeOnce) {
  const std::string binding = std::string(kPod) + "/binding";
  const auto body = [](const char* uid) {
    return std::string(R"({"metadata":{"uid":")") + uid +
           R"(","annotations":{"a":"b"}},"target":{"name":"n"}})";
  };
  EXPECT_EQ(send(Verb::kPost, binding, body("other"))->status, 409u);
  EXPECT_EQ(send(Verb::kPost, binding, body("uid-of-p"))->status, 201u);
  EXPECT_EQ(api.find(kPod)->at("spec").at("nodeName").as_string(), "n");
  EXPECT_EQ(api.annotation(kPod, "a"), "b");
  EXPECT_EQ(send(Verb::kPost, binding, body("uid-of-p"))->status, 409u);
}

TEST_F(FakeApiTest, Eviction_MarksThePodOfThatUid) {
  const std::string eviction = std::string(kPod) + "/eviction";
  const auto body = [](const char* uid) {
    return std::string(R"({"deleteOptions":{"preconditions":{"uid":")") + uid + R"("}}})";
  };
  EXPECT_EQ(send(Verb::kPost, eviction, body("other"))->status, 409u);
  EXPECT_EQ(send(Verb::kPost, eviction, body("uid-of-p"))->status, 201u);
  EXPECT_TRUE(api.find(kPod)->at("metadata").as_object().contains("deletionTimestamp"));
  EXPECT_EQ(send(Verb::kDelete, kPod)->status, 200u);
  EXPECT_EQ(api.find(kPod), nullptr);
}

TEST_F(FakeApiTest, Create_TakesANameOnce) {
  const std::string body = R"({"metadata":{"name":"s"}})";
  const std::string secrets = "/api/v1/namespaces/lab/secrets";
  EXPECT_EQ(send(Verb::kPost, secrets, body)->status, 201u);
  EXPECT_EQ(send(Verb::kPost, secrets, body)->status, 409u);
  EXPECT_EQ(send(Verb::kPost, secrets, "{}")->status, 400u);
  EXPECT_EQ(api.paths("/api/v1/secrets"), std::vector<std::string>{secrets + "/s"});
}

TEST_F(FakeApiTest, DryRun_AnswersAndChangesNothing) {
  const std::string path = "/api/v1/namespaces/lab/pods";
  const Reply reply =
      *send(Verb::kPost, path + "?dryRun=All", R"({"metadata":{"generateName":"new-"},"spec":{}})");
  EXPECT_EQ(reply.status, 201u) << reply.body;
  const json::value made = json::parse(reply.body);
  EXPECT_EQ(made.at("metadata").at("name").as_string().find("new-"), 0u);
  EXPECT_FALSE(made.at("metadata").at("uid").as_string().empty());
  EXPECT_EQ(api.paths("/api/v1/pods").size(), 1u);
  const json::object before = *api.find(kPod);
  const Reply patched = *send(Verb::kPatch, std::string(kPod) + "?dryRun=All",
                              R"({"metadata":{"labels":{"a":"b"}}})", kube::kMergePatch);
  EXPECT_EQ(patched.status, 200u) << patched.body;
  EXPECT_NE(patched.body.find("labels"), std::string::npos);
  EXPECT_EQ(send(Verb::kPost, std::string(kPod) + "/eviction?dryRun=All", "{}")->status, 201u);
  EXPECT_EQ(*api.find(kPod), before);
}

TEST_F(FakeApiTest, EventsOfOneSource_Listed) {
  for (const char* source : {"divvy-scheduler", "kubelet"})
    api.set(std::string("/api/v1/namespaces/lab/events/") + source,
            json::object{{"source", json::object{{"component", source}}}});
  const Reply reply = *send(Verb::kGet, "/api/v1/events?fieldSelector=source%3Ddivvy-scheduler");
  ASSERT_EQ(reply.status, 200u) << reply.body;
  const json::value list = json::parse(reply.body);
  ASSERT_EQ(list.at("items").as_array().size(), 1u);
  EXPECT_EQ(list.at("items").at(0).at("metadata").at("name"), "divvy-scheduler");
}

TEST_F(FakeApiTest, Watch_TellsOfChangesAndEndsWhenTooOld) {
  const std::string pods = "/api/v1/pods", query = "fieldSelector=metadata.name%3Dp";
  std::optional<Result<std::string>> listed;
  std::vector<std::string> events;
  std::vector<json::value> kept;
  auto list = client->list(
      pods, query, [] {}, [&](const json::value& item) { kept.emplace_back(item.as_object()); });
  asio::co_spawn(loop, keep(std::move(list), &listed), asio::detached);
  until([&] { return listed.has_value(); });
  EXPECT_EQ(kept.size(), 1u);
  std::string version = **listed;
  const std::string first = version;
  std::optional<Result<kube::WatchEnd>> end;
  const auto watch = [&] {
    end.reset();
    auto watching = client->watch(pods, query, &version, [&](const kube::WatchEvent& event) {
      events.push_back(event.type);
      return true;
    });
    asio::co_spawn(loop, keep(std::move(watching), &end), asio::detached);
  };
  watch();
  api.set("/api/v1/namespaces/lab/pods/q", json::object{});
  EXPECT_EQ(patch(kPod, R"({"metadata":{"labels":{"a":"b"}}})"), 200u);
  api.remove(kPod);
  until([&] { return events.size() == 2; });
  EXPECT_EQ(events, (std::vector<std::string>{"MODIFIED", "DELETED"}));
  api.breakWatches();
  until([&] { return end.has_value(); });
  version = first;
  api.expireHistory();
  watch();
  until([&] { return end.has_value(); });
  EXPECT_EQ(**end, kube::WatchEnd::kTooOld);
}

TEST_F(FakeApiTest, Faults_AreUsedUpInTheirOrder) {
  api.inject({.method = "PATCH", .kind = FaultKind::kBroken});
  api.inject({.method = "PATCH", .kind = FaultKind::kStatus, .status = 500});
  api.inject({.method = "PATCH", .kind = FaultKind::kAnswerLost});
  const std::string body = R"({"metadata":{"annotations":{"a":"1"}}})";
  EXPECT_FALSE(send(Verb::kPatch, kPod, body, kube::kMergePatch));
  EXPECT_EQ(patch(kPod, body), 500u);
  EXPECT_EQ(api.annotation(kPod, "a"), "");
  EXPECT_FALSE(send(Verb::kPatch, kPod, body, kube::kMergePatch));
  EXPECT_EQ(api.annotation(kPod, "a"), "1") << "it was applied";
  EXPECT_EQ(patch(kPod, body), 200u);
  EXPECT_EQ(api.count("PATCH", kPod), 4u);
}

}  // namespace
}  // namespace divvy::test
