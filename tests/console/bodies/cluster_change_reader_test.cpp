#include "bodies/cluster_change_reader.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace divvy::console {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ClusterChange read(const std::string& body) {
  const Result<ClusterChange> change = readClusterChange(body);
  EXPECT_TRUE(change) << body << ": " << change.error().message();
  return change ? *change : ClusterChange();
}

TEST(ClusterChangeReader, EachKind_TargetAndTerms) {
  ClusterChange change = read(
      R"({"what": "resize", "target": {"share": "lab/p/main"},
          "to": {"memory": "6Gi", "cores": 40}})");
  EXPECT_EQ(change.kind, ClusterChangeKind::kResize);
  EXPECT_EQ(change.target.namespace_name, "lab");
  EXPECT_EQ(change.target.pod, "p");
  EXPECT_EQ(change.target.container, "main");
  EXPECT_EQ(change.to.mebibytes, 6144u);
  EXPECT_EQ(change.to.cores, 40u);
  EXPECT_TRUE(change.dry_run);
  change = read(R"({"what": "priority", "target": {"share": "lab/p/main"},
                    "to": {"priority": "low"}, "dry_run": false})");
  EXPECT_EQ(change.to.priority, "low");
  EXPECT_FALSE(change.dry_run);
  change = read(R"({"what": "cordon", "target": {"device": "n/MIG-GPU-1/1/0"}})");
  EXPECT_EQ(change.target.node, "n");
  EXPECT_EQ(change.target.device, "MIG-GPU-1/1/0");
  change = read(R"({"what": "uncordon", "target": {"node": "n"}, "to": {}})");
  EXPECT_EQ(change.kind, ClusterChangeKind::kUncordon);
  EXPECT_EQ(change.target.device, "");
  change = read(R"({"what": "evict", "target": {"pod": "lab/p"}, "to": null})");
  EXPECT_EQ(change.target.pod, "p");
  change = read(R"({"what": "notice", "target": {"pod": "lab/p"}, "to": {"text": "a \"b\" ü"}})");
  EXPECT_EQ(change.to.text, "a \"b\" ü");
}

TEST(ClusterChangeReader, Queue_AmountsInTheirUnits) {
  const ClusterChange change = read(
      R"({"what": "queue", "target": {"queue": "research"}, "to": {
          "guarantee": [], "weight": 3, "borrows": false, "limit": [
          {"model": "*", "devices_milli": 1500, "memory_bytes": null},
          {"model": "H100", "memory_bytes": 1073741824}]}})");
  EXPECT_EQ(change.target.queue, "research");
  ASSERT_TRUE(change.to.queue.guarantee && change.to.queue.limit);
  EXPECT_TRUE(change.to.queue.guarantee->empty());
  EXPECT_THAT(*change.to.queue.limit,
              ElementsAre(kube::QueueAmount{"*", 1500, {}}, kube::QueueAmount{"H100", {}, 1024}));
  EXPECT_EQ(change.to.queue.weight, 3);
  EXPECT_EQ(change.to.queue.borrows, false);
}

TEST(ClusterChangeReader, RejectedBodies_NameWhatIsAccepted) {
  const std::string share = R"("target": {"share": "lab/p/main"})";
  const std::string pod = R"("target": {"pod": "lab/p"})";
  const std::string queue = R"("target": {"queue": "q"})";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"[]", "not one JSON object"},
      {R"({"what": "delete", )" + pod + "}",
       "what: accepted is one of resize, priority, cordon, uncordon, evict, notice, queue"},
      {R"({)" + pod + "}", "what: accepted"},
      {R"({"what": 5, )" + pod + "}", "what: accepted is a text"},
      {R"({"what": "evict", "force": true, )" + pod + "}",
       "unknown member \"force\"; accepted: what, target, to, dry_run"},
      {R"({"what": "evict", "to": {"now": true}, )" + pod + "}",
       "unknown member \"now\"; accepted: none"},
      {R"({"what": "evict"})", "target: accepted is {\"pod\": \"NAMESPACE/POD\"}"},
      {R"({"what": "evict", "target": {"pod": "p"}})", "target: accepted"},
      {R"({"what": "evict", "target": {"pod": "/p"}})", "target: accepted"},
      {R"({"what": "evict", "target": {"pod": "lab/"}})", "target: accepted"},
      {R"({"what": "evict", "target": {"pod": 5}})", "target: accepted"},
      {R"({"what": "evict", "target": {"share": "lab/p/main"}})", "target: accepted"},
      {R"({"what": "evict", "target": {"pod": "lab/p", "node": "n"}})", "target: accepted"},
      {R"({"what": "cordon", "target": {"device": "n"}})", "{\"node\": \"NODE\"}"},
      {R"({"what": "cordon", "target": {"node": ""}})", "{\"node\": \"NODE\"}"},
      {R"({"what": "resize", )" + share + "}", "to: accepted is an object with memory, cores"},
      {R"({"what": "resize", "to": 5, )" + share + "}", "to: accepted is an object"},
      {R"({"what": "resize", "to": {"memory": "50%"}, )" + share + "}", "1Mi or more, such as 6Gi"},
      {R"({"what": "resize", "to": {"memory": "0"}, )" + share + "}", "1Mi or more, such as 6Gi"},
      {R"({"what": "resize", "to": {"memory": "2Ti"}, )" + share + "}", "such as 6Gi"},
      {R"({"what": "resize", "to": {"memory": 6}, )" + share + "}", "memory: accepted is a text"},
      {R"({"what": "resize", "to": {"cores": 101}, )" + share + "}", "from 1 to 100"},
      {R"({"what": "resize", "to": {"cores": "5"}, )" + share + "}", "from 1 to 100"},
      {R"({"what": "resize", "to": {"priority": "low"}, )" + share + "}",
       "unknown member \"priority\"; accepted: memory, cores"},
      {R"({"what": "priority", "to": {"priority": "urgent"}, )" + share + "}", "high, normal, low"},
      {R"({"what": "notice", )" + pod + "}", "1 to 500 characters without control"},
      {R"({"what": "notice", "to": {"text": "a\nb"}, )" + pod + "}", "without control"},
      {R"({"what": "notice", "to": {"text": "a\u0085b"}, )" + pod + "}", "without control"},
      {R"({"what": "queue", "to": {}, )" + queue + "}", "guarantee, limit, weight or borrows"},
      {R"({"what": "queue", "to": {"weight": 0}, )" + queue + "}", "weight: accepted"},
      {R"({"what": "queue", "to": {"borrows": 1}, )" + queue + "}", "borrows: accepted"},
      {R"({"what": "queue", "to": {"limit": {}}, )" + queue + "}", "limit: accepted is a list"},
      {R"({"what": "queue", "to": {"limit": [{}]}, )" + queue + "}", "limit: accepted is a list"},
      {R"({"what": "queue", "to": {"limit": [{"model": "*", "gpus": 1}]}, )" + queue + "}",
       "unknown member \"gpus\"; accepted: model, devices_milli, memory_bytes"},
      {R"({"what": "queue", "to": {"limit": [{"model": "*", "memory_bytes": 5}]}, )" + queue + "}",
       "a multiple of 1 MiB"},
      {R"({"what": "queue", "to": {"limit": [{"model": "*"}, {"model": "*"}]}, )" + queue + "}",
       "\"*\" is there twice"},
      {R"({"what": "queue", "to": {"limit": [{"model": "*", "devices_milli": -1}]}, )" + queue +
           "}",
       "devices_milli: accepted"},
      {R"({"what": "evict", "dry_run": "no", )" + pod + "}", "dry_run: accepted is true or false"},
  };
  for (const auto& [body, says] : cases) {
    const Result<ClusterChange> change = readClusterChange(body);
    ASSERT_FALSE(change) << body;
    EXPECT_EQ(change.error().code(), ErrorCode::kUsage) << body;
    EXPECT_THAT(change.error().message(), HasSubstr(says)) << body;
  }
}

TEST(ClusterChangeReader, NoticeOf500Characters_AcceptedAndNoMore) {
  const auto body = [](std::size_t size) {
    std::string text;
    for (std::size_t at = 0; at < size; ++at) text += "ü";
    return R"({"what": "notice", "target": {"pod": "lab/p"}, "to": {"text": ")" + text + "\"}}";
  };
  EXPECT_EQ(read(body(500)).to.text.size(), 1000u);
  EXPECT_FALSE(readClusterChange(body(501)));
}

}  // namespace
}  // namespace divvy::console
