// Questions about workloads: which ones, in which order, within bounds.
#include "dispatch/pending_workload.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace divvy::hub {
namespace {

namespace json = boost::json;
using Names = std::vector<std::string>;

constexpr const char* kWorkload = R"({
  "metadata": {"name": "train", "namespace": "lab", "uid": "u", "resourceVersion": "7",
    "creationTimestamp": "2026-12-01T10:00:00Z", "managedFields": [{"manager": "kueue"}],
    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train"}]},
  "spec": {"priority": 3, "queueName": "lab", "podSets": [{"name": "main", "count": 2, "template": {
    "metadata": {"annotations": {"use.divvy.dev/cluster": "b"}}, "spec": {"containers": []}}}]},
  "status": {"nominatedClusterNames": ["a"], "conditions": [],
    "admission": {"podSetAssignments": [{"name": "main", "count": 1}]}}})";

PendingWorkload named(const std::string& uid, std::int64_t priority = 0,
                      const std::string& created = "") {
  PendingWorkload one;
  one.meta.uid = uid;
  one.priority = priority;
  one.created = created;
  one.question = std::make_shared<const std::string>("{\"uid\":\"" + uid + "\"}");
  return one;
}

TEST(PendingWorkload, Question_HasWhatDecidesAndNoMore) {
  const json::value object = json::parse(kWorkload);
  const auto read = kube::kueueWorkloadOf(object);
  ASSERT_TRUE(read) << read.error().message();
  const PendingWorkload one = pendingOf(object, *read);
  EXPECT_EQ(one.named, "b");
  EXPECT_EQ(one.priority, 3);
  EXPECT_EQ(one.nominated, Names{"a"});
  const json::value question = json::parse(*one.question);
  const auto again = kube::kueueWorkloadOf(question);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->job, "train");
  EXPECT_EQ(again->queue, "lab");
  EXPECT_EQ(again->pod_sets.at(0).count, 1) << "one pod has quota";
  EXPECT_FALSE(question.at("metadata").as_object().contains("managedFields"));
  EXPECT_FALSE(question.at("status").as_object().contains("conditions"));
}

TEST(PendingWorkload, TooLargeForAQuestion_NothingOfItIsKept) {
  json::value object = json::parse(kWorkload);
  object.at_pointer("/spec/podSets/0/template/metadata/annotations").as_object()["long"] =
      std::string(500'000, 'x');
  const PendingWorkload one = pendingOf(object, *kube::kueueWorkloadOf(object));
  EXPECT_EQ(one.question, nullptr);
}

TEST(PendingWorkload, Turns_ByPriorityThenAge) {
  const PendingWorkload old = named("old", 0, "2026-12-01T10:00:00Z"),
                        young = named("young", 0, "2026-12-01T11:00:00Z"),
                        high = named("high", 9, "2026-12-01T12:00:00Z");
  std::vector<const PendingWorkload*> all{&young, &high, &old};
  sortByTurn(all);
  EXPECT_EQ(all, (std::vector<const PendingWorkload*>{&high, &old, &young}));
}

TEST(FitQuestion, TooManyWorkloads_RestIsFirstInTheNextQuestion) {
  std::vector<PendingWorkload> all;
  for (int i = 0; i < 200; ++i) all.push_back(named(std::to_string(i)));
  const PendingWorkload nominated = named("nominated");
  std::vector<const PendingWorkload*> others;
  for (const PendingWorkload& one : all) others.push_back(&one);
  const FitQuestion question = questionAbout({&nominated}, others, 150);
  ASSERT_EQ(question.uids.size(), 128u);
  EXPECT_EQ(question.uids[0], "nominated");
  EXPECT_EQ(question.placed, 1u);
  EXPECT_EQ(question.uids[1], "150");
  EXPECT_EQ(question.uids[50], "199");
  EXPECT_EQ(question.uids[51], "0");
  EXPECT_FALSE(question.whole);
  EXPECT_EQ(json::parse(question.list).at("items").as_array().size(), 128u);
}

TEST(FitQuestion, ManyAreNominated_OthersHaveHalfOfIt) {
  std::vector<PendingWorkload> all;
  for (int i = 0; i < 400; ++i) all.push_back(named(std::to_string(i)));
  std::vector<const PendingWorkload*> placed, others;
  for (std::size_t i = 0; i < 200; ++i) placed.push_back(&all[i]);
  for (std::size_t i = 200; i < 400; ++i) others.push_back(&all[i]);
  const FitQuestion question = questionAbout(placed, others, 0);
  EXPECT_EQ(question.placed, 64u);
  EXPECT_EQ(question.uids.size(), 128u);
  EXPECT_EQ(question.uids[64], "200");
}

TEST(FitQuestion, OneTooLarge_OthersHavePlace) {
  const PendingWorkload small = named("small");
  PendingWorkload large = named("large");
  large.question = std::make_shared<const std::string>('"' + std::string(1'000'000, 'x') + '"');
  const FitQuestion question = questionAbout({}, {&large, &small}, 0);
  EXPECT_EQ(question.uids, Names{"small"});
  EXPECT_FALSE(question.whole);
  EXPECT_TRUE(questionAbout({}, {&small}, 0).whole);
}

}  // namespace
}  // namespace divvy::hub
