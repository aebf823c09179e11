// What is read of manifests, and what kube-scheduler looks at itself.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "json/path.h"
#include "kubernetes/kube_filters.h"
#include "kubernetes/manifests.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

TEST(Manifests, PodsAndPodTemplates_Read) {
  const Result<Manifests> read = podsOf(R"(
kind: Pod
metadata: {name: one, namespace: team}
spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1, cpu: "2"}}}], hostPID: no}
---
kind: Service
spec: {ports: []}
---
kind: List
items:
- kind: Deployment
  metadata: {name: many}
  spec: {replicas: 2, template: {metadata: {labels: {a: "true"}}, spec: {containers: [{name: c}]}}}
- kind: CronJob
  metadata: {name: nightly}
  spec: {jobTemplate: {spec: {parallelism: 3, template: {spec: {containers: [{name: c}]}}}}}
)",
                                        "f");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->others, 1u);
  std::vector<std::string> names;
  for (const ManifestPod& one : read->pods) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"one", "many-0", "many-1", "nightly-0", "nightly-1",
                                             "nightly-2"}));
  EXPECT_EQ(read->pods[0].namespace_name, "team");
  const json::value one(read->pods[0].object);
  EXPECT_EQ(one.at("spec").at("hostPID"), json::value(false));
  const json::value& limits = one.at("spec").at("containers").at(0).at("resources").at("limits");
  EXPECT_EQ(limits.at("nvidia.com/gpu"), json::value(1));
  EXPECT_EQ(limits.at("cpu"), json::value("2"));
  EXPECT_EQ(textAt(json::value(read->pods[1].object), {"metadata", "labels", "a"}), "true");
}

// A gang's size stands in the Job, or in the PodGroup, that comes with it.
TEST(Manifests, JobAndPodGroup_KeptAsPodGroups) {
  const Result<Manifests> read = podsOf(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: ring}
spec: {parallelism: 2, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: group, namespace: own}
spec: {minMember: 4}
)",
                                        "f");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->pods.size(), 2u);
  const json::value pod(read->pods[1].object);
  EXPECT_EQ(textAt(pod, {"metadata", "labels", "batch.kubernetes.io/job-name"}), "ring");
  EXPECT_EQ(textAt(pod, {"metadata", "labels", "a"}), "b");
  ASSERT_EQ(read->groups.size(), 2u);
  EXPECT_EQ(groupPathOf(read->groups[0], "lab"), "/apis/batch/v1/namespaces/lab/jobs/ring");
  EXPECT_EQ(groupPathOf(read->groups[1], "lab"),
            "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/lab/podgroups/group");
}

// Regression: what a merge key brings was lost, and with it the containers.
TEST(Manifests, MergeKeys_ContainersKept) {
  const Result<Manifests> read = podsOf(
      "\xEF\xBB\xBF"
      R"(x-base: &base
  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]
kind: Pod
metadata: {name: one}
spec:
  <<: *base
  priorityClassName: low
)",
      "f");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->pods.size(), 1u);
  const json::value pod(read->pods[0].object);
  ASSERT_EQ(listAt(pod, {"spec", "containers"}).size(), 1u);
  EXPECT_EQ(textAt(pod, {"spec", "priorityClassName"}), "low");
}

// Regression: these were "no pod, and nothing that makes pods".
TEST(Manifests, ScaledToZeroOrSuspended_OnePodWithReason) {
  const Result<Manifests> read = podsOf(R"(
kind: Deployment
metadata: {name: web, namespace: team}
spec: {replicas: 0, template: {spec: {containers: [{name: c}]}}}
---
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 0, template: {spec: {containers: [{name: c}]}}}
---
kind: Job
metadata: {name: train}
spec: {suspend: true, parallelism: 4, template: {spec: {containers: [{name: c}]}}}
---
kind: CronJob
metadata: {name: nightly}
spec: {suspend: true, jobTemplate: {spec: {template: {spec: {containers: [{name: c}]}}}}}
---
kind: JobSet
metadata: {name: set}
spec:
  replicatedJobs:
  - name: leader
    template: {spec: {template: {spec: {containers: [{name: c}]}}}}
  - name: worker
    replicas: 2
    template: {spec: {parallelism: 2, template: {spec: {containers: [{name: c}]}}}}
  - name: spare
    replicas: 0
    template: {spec: {parallelism: 2, template: {spec: {containers: [{name: c}]}}}}
---
kind: PyTorchJob
metadata: {name: torch}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: c}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: c}]}}}
)",
                                        "f");
  ASSERT_TRUE(read) << read.error().message();
  std::string all;
  for (const ManifestPod& pod : read->pods)
    all += pod.name + (pod.idle.empty() ? "" : " (" + pod.idle + ")") + '\n';
  EXPECT_EQ(all,
            "web (Deployment web: replicas is 0)\n"
            "db (StatefulSet db: replicas is 0)\n"
            "train (Job train: it is suspended)\n"
            "nightly (CronJob nightly: it is suspended)\n"
            "set-leader\n"
            "set-worker-0\nset-worker-1\nset-worker-2\nset-worker-3\n"
            "set-spare (JobSet set: replicas is 0)\n"
            "torch-Master\n"
            "torch-Worker-0\ntorch-Worker-1\n");
  EXPECT_EQ(read->pods[0].namespace_name, "team");
}

TEST(Manifests, MalformedText_RefusedWithPlace) {
  for (const char* text : {"kind: [", "- a\n- b\n", "just words"}) {
    const Result<Manifests> read = podsOf(text, "f.yaml");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::kUsage);
    EXPECT_EQ(read.error().message().rfind("f.yaml:", 0), 0u) << read.error().message();
  }
}

class Filters : public ::testing::Test {
 protected:
  Filters() {
    filters.setNode(json::parse(R"({"metadata":{"name":"a","labels":{"disk":"ssd","zone":"3"}},
      "status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"2"}}})"));
  }
  std::string whyNot(const std::string& spec) {
    return filters.whyNot(json::parse(R"({"metadata":{"uid":"p"},"spec":)" + spec + "}"), "a");
  }
  KubeFilters filters{[](const std::string& name) { return name == "nvidia.com/gpu"; }};
};

TEST_F(Filters, RequestedAmounts_ComparedWithWhatIsLeft) {
  const std::string half = R"({"containers":[{"resources":{"requests":{"cpu":"2","memory":"1Gi"},
    "limits":{"nvidia.com/gpu":"9"}}}]})";
  EXPECT_EQ(whyNot(half), "");
  const std::string more = R"({"containers":[{"resources":{"requests":{"cpu":"4001m"}}}]})";
  EXPECT_EQ(whyNot(more), "too little cpu");
  filters.setPod(json::parse(R"({"metadata":{"uid":"x"},"spec":)" + half + "}"), "a");
  EXPECT_EQ(whyNot(half), "");
  filters.setPod(json::parse(R"({"metadata":{"uid":"y"},"spec":)" + half + "}"), "a");
  EXPECT_EQ(whyNot(half), "too little cpu");
  EXPECT_EQ(whyNot("{}"), "too little pods");
  // Who ended would leave these, and nothing else.
  const json::value pod = json::parse(R"({"spec":)" + half + "}");
  EXPECT_EQ(filters.whyNot(pod, "a", KubeFilters::FullNodes::kClearable), "");
  const json::value other =
      json::parse(R"({"spec":{"containers":[{"resources":{"requests":{"example.com/x":"1"}}}]}})");
  EXPECT_EQ(filters.whyNot(other, "a", KubeFilters::FullNodes::kClearable),
            "too little example.com/x");
  filters.endPod("y");
  EXPECT_EQ(whyNot(half), "");
  // Init containers one after the other, beside the sidecars before them.
  EXPECT_EQ(whyNot(R"({"initContainers":[
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
    {"resources":{"requests":{"cpu":"1500m"}}}]})"),
            "too little cpu");
}

TEST_F(Filters, TaintsAndSelectors_ReasonNamed) {
  EXPECT_EQ(whyNot(R"({"nodeSelector":{"disk":"ssd"}})"), "");
  EXPECT_EQ(whyNot(R"({"nodeSelector":{"disk":"hdd"}})"),
            "does not match the pod's node selector or affinity");
  const auto affine = [](const std::string& expression) {
    return R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[{"matchExpressions":[)" +
           expression + "]}]}}}}";
  };
  EXPECT_EQ(whyNot(affine(R"({"key":"zone","operator":"Gt","values":["2"]})")), "");
  EXPECT_NE(whyNot(affine(R"({"key":"zone","operator":"NotIn","values":["3"]})")), "");
  EXPECT_NE(whyNot(affine(R"({"key":"rack","operator":"Exists"})")), "");
  filters.setNode(json::parse(R"({"metadata":{"name":"a"},"spec":{"taints":[
    {"key":"gpu","value":"yes","effect":"NoSchedule"},
    {"key":"b","effect":"PreferNoSchedule"}]},"status":{"allocatable":{"pods":"2"}}})"));
  EXPECT_EQ(whyNot("{}"), "has the taint gpu");
  EXPECT_EQ(whyNot(R"({"tolerations":[{"key":"gpu","value":"yes"}]})"), "");
  EXPECT_EQ(whyNot(R"({"tolerations":[{"key":"gpu","value":"no"}]})"), "has the taint gpu");
  EXPECT_EQ(whyNot(R"({"tolerations":[{"operator":"Exists"}]})"), "");
}

}  // namespace
}  // namespace divvy::cli
