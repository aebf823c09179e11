#include "kube/kueue.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace divvy::kube {
namespace {

namespace json = boost::json;

// As Kueue 0.17 writes it, without what is not read.
constexpr const char* kWorkload = R"({
  "metadata": {"name": "job-train-1a2b", "namespace": "lab", "uid": "u", "resourceVersion": "7",
    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train"}]},
  "spec": {"active": true, "priority": 1000, "queueName": "lab",
    "priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"},
    "podSets": [{"name": "main", "count": 8, "minCount": 4, "template": {
      "metadata": {"annotations": {"a": "b"}},
      "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}]},
  "status": {
    "admission": {"podSetAssignments": [{"name": "main", "count": 6}]},
    "conditions": [{"type": "QuotaReserved", "status": "True"},
                   {"type": "Admitted", "status": "False"}],
    "admissionChecks": [{"name": "fit", "state": "Retry", "message": "full", "retryCount": 3}]}})";

TEST(KueueWorkload, QuotaReserved_CountsAreThoseWithQuota) {
  const Result<KueueWorkload> read = kueueWorkloadOf(json::parse(kWorkload));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->job, "train");
  EXPECT_EQ(read->queue, "lab");
  EXPECT_EQ(read->priority, 1000);
  EXPECT_TRUE(read->active && read->quota_reserved);
  EXPECT_FALSE(read->admitted || read->finished || read->evicted || read->of_pods);
  ASSERT_EQ(read->pod_sets.size(), 1u);
  EXPECT_EQ(read->pod_sets[0].count, 6) << "fewer pods have quota than are requested";
  EXPECT_EQ(read->pod_sets[0].pod.meta.namespace_name, "lab");
  EXPECT_EQ(read->pod_sets[0].pod.containers.at(0).limits.at("nvidia.com/gpu"), "1");
  ASSERT_EQ(read->checks.size(), 1u);
  EXPECT_EQ(read->checks[0].state, "Retry");
  EXPECT_EQ(read->checks[0].retries, 3);
}

TEST(KueueWorkload, OfMultiKueue_HasClusterAndNominations) {
  json::value object = json::parse(kWorkload);
  object.at("status").as_object()["nominatedClusterNames"] = json::array{"a", "b"};
  object.at("metadata").as_object()["managedFields"] = json::array{
      json::object{{"manager", "kueue"}, {"operation", "Update"}, {"subresource", "status"}}};
  Result<KueueWorkload> read = kueueWorkloadOf(object);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->nominated, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read->cluster, "");
  EXPECT_FALSE(read->applied);
  object.at("status").as_object()["clusterName"] = "b";
  object.at_pointer("/metadata/managedFields/0/manager") = "kueue-admission";
  object.at_pointer("/metadata/managedFields/0/operation") = "Apply";
  read = kueueWorkloadOf(object);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->cluster, "b");
  EXPECT_TRUE(read->applied);
}

TEST(MultiKueueConfig, Read_HasClusters) {
  const Result<MultiKueueConfig> read = multiKueueConfigOf(
      json::parse(R"({"metadata": {"name": "all"}, "spec": {"clusters": ["a", "b"]}})"));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->meta.name, "all");
  EXPECT_EQ(read->clusters, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(multiKueueConfigOf(json::parse(R"({"spec": {"clusters": "a"}})")));
  const Result<KueueCheck> check = kueueCheckOf(json::parse(
      R"({"metadata": {"name": "mk"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue",
          "parameters": {"kind": "MultiKueueConfig", "name": "all"}}})"));
  ASSERT_TRUE(check) << check.error().message();
  EXPECT_EQ(check->config, "all");
}

TEST(KueueWorkload, OwnedByPods_TemplatesLackMetadata) {
  json::value object = json::parse(kWorkload);
  object.at_pointer("/metadata/ownerReferences/0/kind") = "Pod";
  object.at_pointer("/metadata/ownerReferences/0/apiVersion") = "v1";
  object.at_pointer("/status/conditions/1/type") = "Evicted";
  object.at_pointer("/status/conditions/1/status") = "True";
  const Result<KueueWorkload> read = kueueWorkloadOf(object);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->of_pods);
  EXPECT_TRUE(read->evicted);
  EXPECT_EQ(read->job, "");
}

TEST(KueueWorkload, WorkloadPriorityClass_IsNoPriorityOfPods) {
  json::value object = json::parse(kWorkload);
  object.at_pointer("/spec/priorityClassRef/kind") = "WorkloadPriorityClass";
  const Result<KueueWorkload> read = kueueWorkloadOf(object);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->priority, 0);
}

TEST(KueueWorkload, MemberOfOtherType_ErrorNamesPlace) {
  json::value object = json::parse(kWorkload);
  object.at_pointer("/spec/podSets/0/template/spec/containers") = "none";
  const Result<KueueWorkload> read = kueueWorkloadOf(object);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("podSets[0].template"), std::string::npos)
      << read.error().message();
}

TEST(KueueQueue, NotActive_MessageOfConditionIsTheProblem) {
  json::value object = json::parse(R"({"metadata": {"name": "q", "namespace": "lab", "uid": "u"},
    "status": {"conditions": [{"type": "Other", "status": "False", "message": "no"},
                              {"type": "Active", "status": "True", "message": "ready"}]}})");
  EXPECT_EQ(kueueQueueOf(object)->problem, "");
  json::value& active = object.at_pointer("/status/conditions/1");
  active.at("status") = "False";
  active.at("message") = "stopped";
  EXPECT_EQ(kueueQueueOf(object)->problem, "stopped");
  active.as_object().erase("message");
  EXPECT_EQ(kueueQueueOf(object)->problem, "it is not active");
  object.at_pointer("/status/conditions") = "none";
  EXPECT_FALSE(kueueQueueOf(object));
}

TEST(KueueCheck, ParametersAndCondition_AreRead) {
  const Result<KueueCheck> read = kueueCheckOf(json::parse(R"({"metadata": {"name": "fit"},
    "spec": {"controllerName": "divvy.dev/fit", "parameters": {"kind": "X", "name": "y"}},
    "status": {"conditions": [{"type": "Active", "status": "False"}]}})"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->controller, "divvy.dev/fit");
  EXPECT_TRUE(read->parameters);
  EXPECT_EQ(read->active, "False");
}

}  // namespace
}  // namespace divvy::kube
