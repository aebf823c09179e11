// What all changes have in common: dry runs, rights, lost answers.
#include "cluster_console/cluster_changes.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "change_fixture.h"

namespace divvy::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using ClusterChanges = ServedChanges;

TEST_F(ClusterChanges, DryRunOfEachKind_NothingWritten) {
  const boost::json::object before[] = {object(kPod), object(kNode), object(kQueue)};
  for (const ClusterChangeKind kind : kAllKinds) {
    const std::size_t asked = writes(true).size();
    const ClusterChangeOutcome outcome = made(changeOf(kind, true));
    EXPECT_FALSE(outcome.effects.empty());
    EXPECT_FALSE(outcome.refused) << outcome.refused->message;
    EXPECT_EQ(outcome.state, ClusterChangeState::kPlanned);
    EXPECT_FALSE(outcome.recorded);
    // The API server was asked about the change, and about its Event.
    EXPECT_EQ(writes(true).size() - asked, kind == ClusterChangeKind::kNotice ? 1u : 2u);
  }
  EXPECT_TRUE(writes(false).empty());
  EXPECT_EQ(object(kPod), before[0]);
  EXPECT_EQ(object(kNode), before[1]);
  EXPECT_EQ(object(kQueue), before[2]);
  api_.use([](FakeApi& api) { EXPECT_TRUE(api.paths("/api/v1/events").empty()); });
}

TEST_F(ClusterChanges, ServerForbidsWrite_RefusedAndNotRecorded) {
  const std::pair<ClusterChangeKind, std::pair<const char*, const char*>> cases[] = {
      {ClusterChangeKind::kResize, {"PATCH", kPod}},
      {ClusterChangeKind::kPriority, {"PATCH", kPod}},
      {ClusterChangeKind::kCordon, {"PATCH", kNode}},
      {ClusterChangeKind::kEvict, {"POST", kEviction}},
      {ClusterChangeKind::kNotice, {"POST", kEvents}},
      {ClusterChangeKind::kQueue, {"PATCH", kQueue}},
  };
  for (const auto& [kind, request] : cases)
    for (const bool dry : {true, false}) {
      forbid(request.first, request.second);
      const ClusterChangeOutcome outcome = made(changeOf(kind, dry));
      ASSERT_TRUE(outcome.refused) << request.second;
      EXPECT_EQ(outcome.refused->code, "forbidden");
      EXPECT_THAT(outcome.refused->message, HasSubstr("jane cannot do that"));
      EXPECT_FALSE(outcome.recorded);
    }
  api_.use([](FakeApi& api) { EXPECT_TRUE(api.paths("/api/v1/events").empty()); });
}

TEST_F(ClusterChanges, ServerForbidsReading_Refused) {
  for (const auto& [kind, path] :
       std::map<ClusterChangeKind, const char*>{{ClusterChangeKind::kEvict, kPod},
                                                {ClusterChangeKind::kCordon, kNode},
                                                {ClusterChangeKind::kQueue, kQueue}}) {
    forbid("GET", path);
    const ClusterChangeOutcome outcome = made(changeOf(kind, false));
    ASSERT_TRUE(outcome.refused);
    EXPECT_EQ(outcome.refused->code, "forbidden");
  }
  EXPECT_TRUE(writes(false).empty());
}

TEST_F(ClusterChanges, EventForbidden_ChangeMadeAndSaid) {
  forbid("POST", kEvents, 2);
  const ClusterChangeOutcome planned = made(changeOf(ClusterChangeKind::kEvict, true));
  EXPECT_FALSE(planned.refused);
  EXPECT_THAT(planned.warnings, ElementsAre(HasSubstr("no Event names you")));
  const ClusterChangeOutcome done = made(changeOf(ClusterChangeKind::kEvict, false));
  EXPECT_EQ(done.state, ClusterChangeState::kDone);
  EXPECT_EQ(done.recorded, false);
  EXPECT_TRUE(object(kPod).at("metadata").as_object().contains("deletionTimestamp"));
}

TEST_F(ClusterChanges, TokenOfViewer_InEachRequest) {
  std::size_t from = 0;
  api_.use([&](FakeApi& api) { from = api.calls().size(); });
  for (const ClusterChangeKind kind : kAllKinds) {
    ClusterChange change = changeOf(kind, true);
    change.token = "of-jane";
    made(change);
  }
  api_.use([&](FakeApi& api) {
    std::size_t count = 0;
    for (std::size_t at = from; at < api.calls().size(); ++at) {
      const FakeCall& call = api.calls()[at];
      // The watch lists collections, with the connection's own token.
      const bool object = call.path == kPod || call.path == kNode || call.path == kQueue;
      if (call.method == "GET" && !object) continue;
      ++count;
      EXPECT_EQ(call.authorization, "Bearer of-jane") << call.method << ' ' << call.path;
    }
    EXPECT_GE(count, 17u);
  });
  // Control: without one it is the connection's.
  made(changeOf(ClusterChangeKind::kNotice, true));
  EXPECT_EQ(writes(true).back().authorization, "Bearer a-token");
}

TEST_F(ClusterChanges, TokenNotAccepted_RefusedWithWhatToDo) {
  refuse("GET", kPod, 401, R"({"kind":"Status","reason":"Unauthorized","message":"Unauthorized"})");
  const ClusterChangeOutcome outcome = made(changeOf(ClusterChangeKind::kEvict, false));
  ASSERT_TRUE(outcome.refused);
  EXPECT_EQ(outcome.refused->code, "forbidden");
  EXPECT_THAT(outcome.refused->message, HasSubstr("sign in again"));
}

TEST_F(ClusterChanges, ObjectGone_NotFoundAndNothingWritten) {
  api_.remove(kPod);
  api_.remove(kQueue);
  for (const ClusterChangeKind kind : {ClusterChangeKind::kResize, ClusterChangeKind::kEvict,
                                       ClusterChangeKind::kNotice, ClusterChangeKind::kQueue}) {
    const Result<ClusterChangeOutcome> outcome = make(changeOf(kind, false));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), ErrorCode::kNotFound);
    EXPECT_THAT(outcome.error().message(), HasSubstr("nothing was changed"));
  }
  EXPECT_TRUE(writes(false).empty());
}

TEST_F(ClusterChanges, ServerGone_Unavailable) {
  api_.close();
  for (const ClusterChangeKind kind : kAllKinds) {
    const Result<ClusterChangeOutcome> outcome = make(changeOf(kind, false));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
    EXPECT_THAT(outcome.error().message(), HasSubstr("nothing was changed"));
  }
}

// The pod is evicted, or not.
TEST_F(ClusterChanges, AnswerLost_SaysThatItIsNotKnown) {
  api_.use([](FakeApi& api) {
    Fault fault;
    fault.method = "POST";
    fault.path = kEviction;
    fault.kind = FaultKind::kAnswerLost;
    api.inject(fault);
  });
  const Result<ClusterChangeOutcome> outcome = make(changeOf(ClusterChangeKind::kEvict, false));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(outcome.error().message(), HasSubstr("not known whether"));
}

TEST_F(ClusterChanges, NamesThatArePaths_NotFoundAndNotAsked) {
  std::size_t before = 0, after = 0;
  api_.use([&](FakeApi& api) { before = api.count("GET", kPod) + api.count("GET", kNode); });
  for (const char* name : {"p/eviction", "p?x=", "..", "p%2Flog", "p\r\nX: y", "p#"}) {
    ClusterChange pod = changeOf(ClusterChangeKind::kEvict, false);
    pod.target.pod = name;
    ClusterChange space = changeOf(ClusterChangeKind::kNotice, false);
    space.target.namespace_name = name;
    ClusterChange node = changeOf(ClusterChangeKind::kCordon, false);
    node.target.node = name;
    ClusterChange queue = changeOf(ClusterChangeKind::kQueue, false);
    queue.target.queue = name;
    for (const ClusterChange& change : {pod, space, node, queue}) {
      const Result<ClusterChangeOutcome> outcome = make(change);
      ASSERT_FALSE(outcome) << name;
      EXPECT_EQ(outcome.error().code(), ErrorCode::kNotFound) << name;
    }
  }
  api_.use([&](FakeApi& api) { after = api.count("GET", kPod) + api.count("GET", kNode); });
  EXPECT_EQ(after, before);
  EXPECT_TRUE(writes(false).empty());
}

}  // namespace
}  // namespace divvy::cli
