// Each kind of change: what it writes, and what it says.
#include "cluster_console/cluster_changes.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "change_fixture.h"

namespace divvy::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using ChangeKinds = ServedChanges;

// ---- resize and priority ----

TEST_F(ChangeKinds, ResizeThatSchedulerMakes_DoneAndRecorded) {
  answerResize(kube::ResizePhase::kDone);
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kResize, false));
  EXPECT_THAT(outcome.effects,
              ElementsAre("memory limit of container main: 8GiB to 4GiB on each of 1 device"));
  EXPECT_EQ(outcome.state, ClusterChangeState::kDone);
  EXPECT_FALSE(outcome.refused);
  EXPECT_EQ(outcome.recorded, true);
  const boost::json::value said = event();
  EXPECT_EQ(textAt(said, {"reason"}), "ResizeRequested");
  EXPECT_EQ(textAt(said, {"type"}), "Normal");
  EXPECT_EQ(textAt(said, {"message"}), "jane: " + outcome.effects[0]);
  EXPECT_EQ(textAt(said, {"reportingComponent"}), "divvy-console");
  EXPECT_EQ(textAt(said, {"involvedObject", "uid"}), "uid-of-p");
  EXPECT_EQ(textAt(said, {"involvedObject", "namespace"}), "lab");
}

TEST_F(ChangeKinds, ResizeThatSchedulerRefuses_ItsReasonWord) {
  answerResize(kube::ResizePhase::kRefused, "NoRoom", "device 0 has 1GiB left");
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kResize, false));
  ASSERT_TRUE(outcome.refused);
  EXPECT_EQ(outcome.refused->code, "NoRoom");
  EXPECT_EQ(outcome.refused->message, "device 0 has 1GiB left");
  EXPECT_FALSE(outcome.recorded);
}

TEST_F(ChangeKinds, SchedulerSilentOrAgentSilent_Requested) {
  const ClusterChangeOutcome silent = made(changeOf(ClusterChangeKind::kResize, false));
  EXPECT_EQ(silent.state, ClusterChangeState::kRequested);
  EXPECT_THAT(silent.warnings, ElementsAre("the scheduler has not answered yet"));
  EXPECT_EQ(silent.recorded, true);
  answerResize(kube::ResizePhase::kAdmitted);
  const ClusterChangeOutcome admitted = made(changeOf(ClusterChangeKind::kPriority, false));
  EXPECT_EQ(admitted.state, ClusterChangeState::kRequested);
  EXPECT_THAT(admitted.warnings, ElementsAre(HasSubstr("agent of node n has not answered")));
}

TEST_F(ChangeKinds, Priority_RequestHasNothingElse) {
  answerResize(kube::ResizePhase::kDone);
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kPriority, false));
  EXPECT_THAT(outcome.effects, ElementsAre("priority of container main: normal to low"));
  const std::string annotation =
      textAt(object(kPod), {"metadata", "annotations", kube::kChangeKey});
  const Result<kube::ResizeRequest> request = kube::decodeShareChange(annotation);
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->container, "main");
  EXPECT_EQ(request->priority, "low");
  EXPECT_FALSE(request->mebibytes || request->cores);
  EXPECT_EQ(textAt(event(), {"reason"}), "PriorityRequested");
}

TEST_F(ChangeKinds, ResizeToPresentSize_NothingSent) {
  ClusterChange change = changeOf(ClusterChangeKind::kResize, false);
  change.to.mebibytes = 8192;
  const ClusterChangeOutcome outcome = made(change);
  EXPECT_THAT(outcome.effects, ElementsAre(HasSubstr("nothing changes")));
  EXPECT_EQ(outcome.state, ClusterChangeState::kDone);
  EXPECT_FALSE(outcome.recorded);
  EXPECT_TRUE(writes(false).empty());
}

// Another pod of that name came between reading and writing.
TEST_F(ChangeKinds, PodReplaced_ConflictAndNotWritten) {
  api_.use([](FakeApi& api) {
    Fault fault;
    fault.method = "PATCH";
    fault.path = kPod;
    fault.before = [&api] {
      boost::json::object other = *api.find(kPod);
      other["metadata"].get_object()["uid"] = "another";
      api.set(kPod, other);
    };
    api.inject(fault);
  });
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kResize, false));
  ASSERT_TRUE(outcome.refused);
  EXPECT_EQ(outcome.refused->code, "conflict");
  EXPECT_FALSE(objectAt(object(kPod), {"metadata", "annotations"}).contains(kube::kChangeKey));
}

// ---- cordon ----

TEST_F(ChangeKinds, CordonAndUncordonDevice_AnnotationOfNode) {
  const ClusterChangeOutcome closed = made(changeOf(ClusterChangeKind::kCordon, false));
  EXPECT_THAT(closed.effects,
              ElementsAre("device GPU-n-0 of n takes no new pods", "1 running pod keeps it"));
  EXPECT_EQ(closed.recorded, true);
  EXPECT_EQ(textAt(object(kNode), {"metadata", "annotations", kCordonKey}), "GPU-n-0");
  const boost::json::value said = event("/api/v1/namespaces/default/events");
  EXPECT_EQ(textAt(said, {"reason"}), "DeviceCordoned");
  EXPECT_EQ(textAt(said, {"involvedObject", "kind"}), "Node");
  EXPECT_EQ(textAt(said, {"involvedObject", "uid"}), "uid-of-n");
  const std::size_t before = writes(false).size();
  EXPECT_THAT(made(changeOf(ClusterChangeKind::kCordon, false)).effects,
              ElementsAre(HasSubstr("nothing changes")));
  EXPECT_EQ(writes(false).size(), before);
  const ClusterChangeOutcome open = made(changeOf(ClusterChangeKind::kUncordon, false));
  EXPECT_THAT(open.effects, ElementsAre("device GPU-n-0 of n takes new pods again"));
  EXPECT_EQ(textAt(object(kNode), {"metadata", "annotations", kCordonKey}), "");
}

TEST_F(ChangeKinds, CordonNode_AllItsDevices) {
  ClusterChange change = changeOf(ClusterChangeKind::kCordon, false);
  change.target.device.clear();
  EXPECT_THAT(made(change).effects,
              ElementsAre("2 devices of n take no new pods", "1 running pod keeps them"));
  EXPECT_EQ(textAt(object(kNode), {"metadata", "annotations", kCordonKey}), "GPU-n-0,GPU-n-1");
  change.target.device = "GPU-none";
  const Result<ClusterChangeOutcome> unknown = make(change);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
}

TEST_F(ChangeKinds, UncordonOfClosedNode_Warning) {
  boost::json::object node = object(kNode);
  node["spec"] = boost::json::object{{"unschedulable", true}};
  node["metadata"].at("annotations").get_object()[kCordonKey] = "GPU-n-0";
  api_.set(kNode, node);
  EXPECT_THAT(made(changeOf(ClusterChangeKind::kUncordon, true)).warnings,
              ElementsAre(HasSubstr("kubectl uncordon")));
}

TEST_F(ChangeKinds, NodeChangedMeanwhile_TriedTwice) {
  const char* conflict = R"({"kind":"Status","reason":"Conflict","message":"modified"})";
  refuse("PATCH", kNode, 409, conflict);
  EXPECT_EQ(made(changeOf(ClusterChangeKind::kCordon, false)).state, ClusterChangeState::kDone);
  refuse("PATCH", kNode, 409, conflict, 100);
  const Result<ClusterChangeOutcome> outcome = make(changeOf(ClusterChangeKind::kUncordon, false));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(textAt(object(kNode), {"metadata", "annotations", kCordonKey}), "GPU-n-0");
}

// ---- eviction ----

TEST_F(ChangeKinds, Evict_PodTerminatesAndRecorded) {
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kEvict, false));
  EXPECT_THAT(outcome.effects, ElementsAre("pod lab/p ends; it has 30 s for that",
                                           "its controller StatefulSet/train starts another one"));
  EXPECT_THAT(outcome.warnings, IsEmpty());
  EXPECT_EQ(outcome.state, ClusterChangeState::kDone);
  EXPECT_EQ(outcome.recorded, true);
  EXPECT_EQ(textAt(event(), {"reason"}), "EvictionRequested");
  EXPECT_THAT(made(changeOf(ClusterChangeKind::kEvict, false)).effects,
              ElementsAre(HasSubstr("nothing changes")));
}

TEST_F(ChangeKinds, BudgetForbidsEviction_ConflictAndPodStays) {
  const std::string budget =
      R"({"kind":"Status","reason":"TooManyRequests","message":"Cannot evict pod as it would )"
      R"(violate the pod's disruption budget.","details":{"causes":)"
      R"([{"reason":"DisruptionBudget"}]}})";
  for (const bool dry : {true, false}) {
    refuse("POST", kEviction, 429, budget);
    const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kEvict, dry));
    ASSERT_TRUE(outcome.refused);
    EXPECT_EQ(outcome.refused->code, "conflict");
    EXPECT_THAT(outcome.refused->message, HasSubstr("disruption budget"));
  }
  EXPECT_FALSE(object(kPod).at("metadata").as_object().contains("deletionTimestamp"));
}

// An overloaded server is no budget, and the call is not repeated.
TEST_F(ChangeKinds, ServerOverloaded_Unavailable) {
  refuse("POST", kEviction, 429, R"({"kind":"Status","reason":"TooManyRequests"})");
  const Result<ClusterChangeOutcome> outcome = make(changeOf(ClusterChangeKind::kEvict, false));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
  api_.use([](FakeApi& api) { EXPECT_EQ(api.count("POST", kEviction), 1u); });
}

TEST_F(ChangeKinds, StaticPod_RefusedAndNotAsked) {
  api_.use([](FakeApi& api) { api.annotate(kPod, "kubernetes.io/config.mirror", "x"); });
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kEvict, true));
  ASSERT_TRUE(outcome.refused);
  EXPECT_EQ(outcome.refused->code, "Unsupported");
  EXPECT_THAT(outcome.refused->message, HasSubstr("static pod"));
  EXPECT_TRUE(writes(true).empty());
}

// ---- notice ----

TEST_F(ChangeKinds, NoticeWithQuotes_WarningEventAndNothingElse) {
  ClusterChange change = changeOf(ClusterChangeKind::kNotice, false);
  change.user = "system:serviceaccount:ops:\"j\\ane\"";
  change.to.text = "save \"now\" \\ <script>alert(1)</script> üñ";
  const boost::json::object before = object(kPod);
  const ClusterChangeOutcome outcome = made(change);
  EXPECT_EQ(outcome.recorded, true);
  EXPECT_EQ(outcome.state, ClusterChangeState::kDone);
  ASSERT_EQ(writes(false).size(), 1u);
  const boost::json::value said = event();
  EXPECT_EQ(textAt(said, {"type"}), "Warning");
  EXPECT_EQ(textAt(said, {"reason"}), "OperatorNotice");
  EXPECT_EQ(textAt(said, {"message"}), change.user + ": " + change.to.text);
  EXPECT_EQ(object(kPod), before);
}

// ---- queue ----

TEST_F(ChangeKinds, Queue_OnlyNamedMembersReplaced) {
  ClusterChange change = changeOf(ClusterChangeKind::kQueue, false);
  change.to.queue = {};
  change.to.queue.limit = std::vector<kube::QueueAmount>{{"*", 4000, 1024}, {"H100", {}, {}}};
  change.to.queue.borrows = false;
  const ClusterChangeOutcome outcome = made(change);
  ASSERT_FALSE(outcome.refused) << outcome.refused->message;
  EXPECT_EQ(outcome.recorded, true);
  const boost::json::value spec = object(kQueue).at("spec");
  EXPECT_EQ(spec, boost::json::value(boost::json::parse(R"({
    "guarantee": [{"model": "*", "gpuMilli": 1000}], "weight": 2, "borrowing": false,
    "limit": [{"model": "*", "gpuMilli": 4000, "memoryMiB": 1024}, {"model": "H100"}]})")));
  const boost::json::value said = event("/api/v1/namespaces/default/events");
  EXPECT_EQ(textAt(said, {"reason"}), "QueueChanged");
  EXPECT_EQ(textAt(said, {"involvedObject", "apiVersion"}), "divvy.dev/v1alpha1");
}

TEST_F(ChangeKinds, QueueChangedMeanwhile_ConflictAndKept) {
  api_.use([](FakeApi& api) {
    Fault fault;
    fault.method = "PATCH";
    fault.path = kQueue;
    fault.before = [&api] {
      boost::json::object other = *api.find(kQueue);
      other["spec"].get_object()["weight"] = 9;
      api.set(kQueue, other);
    };
    api.inject(fault);
  });
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kQueue, false));
  ASSERT_TRUE(outcome.refused);
  EXPECT_EQ(outcome.refused->code, "conflict");
  EXPECT_EQ(object(kQueue).at("spec").at("weight"), 9);
}

TEST_F(ChangeKinds, ServerFindsQueueInvalid_Usage) {
  refuse("PATCH", kQueue, 422,
         R"({"kind":"Status","reason":"Invalid","message":"spec.weight: Invalid value"})");
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kQueue, true));
  ASSERT_TRUE(outcome.refused);
  EXPECT_EQ(outcome.refused->code, "usage");
  EXPECT_THAT(outcome.refused->message, HasSubstr("spec.weight"));
}

}  // namespace
}  // namespace divvy::cli
