// Labels for HAMi's monitor, written to a fake API server.
#include "controllers/hami_label_controller.h"

#include "controller_fixture.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

constexpr const char* kLabel = "hami.io/vgpu-node";

json::object placed(const std::string& uid = "uid-of-p") {
  json::object pod = podJson({}, {{kLabel, "n"}});
  pod["metadata"].as_object()["uid"] = uid;
  pod["spec"].as_object()["nodeName"] = "n";
  return pod;
}

class HamiLabelTest : public ControllerTest {
 protected:
  void SetUp() override { api.set(podPath("p"), placed()); }
  void tell() { labels.onPodUpdate(podAt(podPath("p"))); }
  bool labelled() const {
    const json::object& meta = api.find(podPath("p"))->at("metadata").as_object();
    return meta.contains("labels") && meta.at("labels").as_object().contains(kLabel);
  }
  std::size_t writes() const { return api.count("PATCH", podPath("p")); }

  HamiAgentNodes agents;
  HamiLabelController labels{loop.get_executor(),  *client, agents, counts,
                             WhereAgents::kAlways, whyNot()};
};

TEST_F(HamiLabelTest, PlacedPod_IsLabelledOnce) {
  tell();
  ASSERT_TRUE(until([&] { return labelled(); }));
  tell();
  pass(std::chrono::seconds(10));
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(counts.labelled, 1u);
}

TEST_F(HamiLabelTest, WriteFails_IsRepeatedAfterAPause) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus, .times = 2});
  tell();
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  pass(std::chrono::seconds(4));
  EXPECT_EQ(writes(), 1u);
  EXPECT_TRUE(until([&] { return labelled(); }));
  EXPECT_EQ(writes(), 3u);
}

TEST_F(HamiLabelTest, AnswerLostAfterWrite_CountsOnce) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kAnswerLost});
  tell();
  ASSERT_TRUE(until([&] { return counts.labelled == 1; }));
  pass(std::chrono::seconds(10));
  EXPECT_EQ(counts.labelled, 1u);
  EXPECT_EQ(writes(), 2u);
  EXPECT_FALSE(api.calls("PATCH", podPath("p"))[1].changed);
}

TEST_F(HamiLabelTest, LeadershipLostBeforeWrite_NothingIsSent) {
  tell();
  why_not = "another leads";
  pass(std::chrono::seconds(20));
  EXPECT_EQ(writes(), 0u);
  why_not.clear();
  labels.reconcile();
  EXPECT_TRUE(until([&] { return labelled(); }));
}

TEST_F(HamiLabelTest, LeadershipLostAtConnection_NothingIsSent) {
  const std::unique_ptr<kube::Client> slow = clientThatWaits();
  HamiLabelController late(loop.get_executor(), *slow, agents, counts, WhereAgents::kAlways,
                           whyNot());
  late.onPodUpdate(podAt(podPath("p")));
  pass(std::chrono::milliseconds(200));
  why_not = "another leads";
  pass(std::chrono::hours(1));
  EXPECT_EQ(writes(), 0u);
}

TEST_F(HamiLabelTest, NameReused_OtherPodIsNotLabelled) {
  tell();
  api.set(podPath("p"), placed("another"));
  pass(std::chrono::seconds(20));
  EXPECT_FALSE(labelled());
  EXPECT_EQ(writes(), 1u) << "it is not repeated";
}

TEST_F(HamiLabelTest, PodGone_OthersAreLabelled) {
  kube::Pod gone = podAt(podPath("p"));
  gone.meta.name = "a";
  gone.meta.uid = "a";
  labels.onPodUpdate(gone);
  tell();
  EXPECT_TRUE(until([&] { return labelled(); }));
}

TEST_F(HamiLabelTest, NameIsNoPath_NothingIsSent) {
  kube::Pod hostile = podAt(podPath("p"));
  hostile.meta.name = "p HTTP/1.1\r\nHost: x\r\n\r\nDELETE /api/v1/nodes/n";
  labels.onPodUpdate(hostile);
  pass(std::chrono::seconds(20));
  EXPECT_TRUE(api.calls().empty());
}

}  // namespace
}  // namespace divvy::scheduler
