#include "cluster_console/change_effects.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "base/bytes.h"
#include "cluster_console/change_event.h"
#include "json/path.h"

namespace divvy::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The container `main` has two devices, `side` none.
kube::Pod podWithDevices(const std::string& devices) {
  kube::Pod pod;
  pod.meta.namespace_name = "lab";
  pod.meta.name = "p";
  pod.meta.annotations["hami.io/vgpu-devices-allocated"] = devices;
  pod.containers = {{"main", {}, {}}, {"side", {}, {}}};
  return pod;
}

console::ClusterChange changeOfShare(console::ClusterChangeKind kind) {
  console::ClusterChange change;
  change.kind = kind;
  change.target.namespace_name = "lab";
  change.target.pod = "p";
  change.target.container = "main";
  return change;
}

TEST(ChangeEffects, Resize_OldToNewOfEachDevice) {
  console::ClusterChange change = changeOfShare(console::ClusterChangeKind::kResize);
  change.to.mebibytes = 6144;
  change.to.cores = 50;
  const kube::Pod pod = podWithDevices("GPU-a,NVIDIA,4096,10:GPU-b,NVIDIA,8192,10:;;");
  EXPECT_THAT(effectsOnShare(pod, change).effects,
              ElementsAre("memory limit of container main: 4GiB, 8GiB to 6GiB on each of 2 devices",
                          "compute of container main: 10% to 50% on each of 2 devices"));
}

TEST(ChangeEffects, ResizeToPresentSize_NoEffects) {
  console::ClusterChange change = changeOfShare(console::ClusterChangeKind::kResize);
  change.to.mebibytes = 4096;
  change.to.cores = 10;
  const kube::Pod pod = podWithDevices("GPU-a,NVIDIA,4096,10:;;");
  EXPECT_THAT(effectsOnShare(pod, change).effects, IsEmpty());
  change.to.cores = 11;
  EXPECT_THAT(effectsOnShare(pod, change).effects,
              ElementsAre("compute of container main: 10% to 11% on each of 1 device"));
}

TEST(ChangeEffects, AllocationUnknown_NewSizeOnly) {
  console::ClusterChange change = changeOfShare(console::ClusterChangeKind::kResize);
  change.to.mebibytes = 4096;
  EXPECT_THAT(effectsOnShare(podWithDevices("what?"), change).effects,
              ElementsAre("memory limit of container main: 4GiB on each of its devices"));
}

TEST(ChangeEffects, ResizeBelowUse_Warning) {
  console::ClusterChange change = changeOfShare(console::ClusterChangeKind::kResize);
  change.to.mebibytes = 4096;
  change.used_bytes = gib(5).count;
  const kube::Pod pod = podWithDevices("GPU-a,NVIDIA,8192,10:;;");
  EXPECT_THAT(effectsOnShare(pod, change).warnings,
              ElementsAre("less than it uses now (5GiB): the agent will refuse it"));
  change.used_bytes = gib(4).count;
  EXPECT_THAT(effectsOnShare(pod, change).warnings, IsEmpty());
}

// As agents read it: of the container, of the pod, and what the scheduler has recorded before both.
TEST(ChangeEffects, Priority_FromTheAnnotationInForce) {
  console::ClusterChange change = changeOfShare(console::ClusterChangeKind::kPriority);
  change.to.priority = "low";
  kube::Pod pod = podWithDevices("");
  const auto effect = [&] {
    const std::vector<std::string> all = effectsOnShare(pod, change).effects;
    return all.empty() ? std::string() : all[0];
  };
  EXPECT_EQ(effect(), "priority of container main: normal to low");
  pod.meta.annotations["use.divvy.dev/priority"] = "low";
  EXPECT_EQ(effect(), "");
  pod.meta.annotations["main.use.divvy.dev/priority"] = "high";
  EXPECT_EQ(effect(), "priority of container main: high to low");
  pod.meta.annotations["divvy.dev/decided"] = R"({"use.divvy.dev/priority": "normal"})";
  EXPECT_EQ(effect(), "priority of container main: normal to low");
}

TEST(ChangeEffects, Cordon_DevicesAndPodsThatStay) {
  console::ClusterChange change = changeOfShare(console::ClusterChangeKind::kCordon);
  change.target.node = "n";
  EXPECT_THAT(effectsOfCordon(change, {{"GPU-1"}, 0}).effects,
              ElementsAre("device GPU-1 of n takes no new pods", "no running pod uses it"));
  EXPECT_THAT(effectsOfCordon(change, {{"GPU-1"}, 0}).warnings, IsEmpty());
  EXPECT_THAT(effectsOfCordon(change, {{"GPU-1", "GPU-2"}, 1}).effects,
              ElementsAre("2 devices of n take no new pods", "1 running pod keeps them"));
  EXPECT_THAT(effectsOfCordon(change, {{"GPU-1", "GPU-2"}, 3}).warnings,
              ElementsAre(HasSubstr("stay until they end")));
  change.kind = console::ClusterChangeKind::kUncordon;
  EXPECT_THAT(effectsOfCordon(change, {{"GPU-1"}, 3}).effects,
              ElementsAre("device GPU-1 of n takes new pods again"));
}

TEST(ChangeEffects, Eviction_WhichControllerStartsAnother) {
  kube::Pod pod = podWithDevices("");
  pod.grace = 45;
  EXPECT_THAT(effectsOfEviction(pod, "").effects,
              ElementsAre("pod lab/p ends; it has 45 s for that", "nothing starts it again"));
  EXPECT_THAT(effectsOfEviction(pod, "").warnings, ElementsAre("no controller would recreate it"));
  pod.controller = "ReplicaSet";
  EXPECT_THAT(effectsOfEviction(pod, "Deployment/web").effects,
              ElementsAre(HasSubstr("ends"), "its controller Deployment/web starts another one"));
  EXPECT_THAT(effectsOfEviction(pod, "Deployment/web").warnings, IsEmpty());
  pod.controller = "DaemonSet";
  EXPECT_THAT(effectsOfEviction(pod, "DaemonSet/x").warnings, IsEmpty());
  EXPECT_THAT(effectsOfEviction(pod, "Job/x").effects[1], HasSubstr("retries"));
  pod.meta.annotations["use.divvy.dev/evictable"] = "false";
  EXPECT_THAT(effectsOfEviction(pod, "Job/x").warnings,
              ElementsAre("it is annotated use.divvy.dev/evictable: false"));
  pod.meta.deleting = true;
  EXPECT_THAT(effectsOfEviction(pod, "Job/x").effects, IsEmpty());
}

TEST(ChangeEffects, Queue_AmountsWeightAndBorrowing) {
  kube::Queue queue;
  queue.meta.name = "research";
  queue.guarantee = {{"*", 1000, {}}, {"H100", 2500, 16384}};
  console::QueueTerms terms;
  terms.guarantee = std::vector<kube::QueueAmount>{{"*", 2000, {}}};
  terms.limit = std::vector<kube::QueueAmount>{{"*", {}, 81920}};
  terms.weight = 3;
  terms.borrows = false;
  EXPECT_THAT(
      effectsOnQueue(queue, terms).effects,
      ElementsAre("guarantee of queue research: *: 1 device; H100: 2.5 devices, 16GiB to "
                  "*: 2 devices",
                  "limit of queue research: unlimited to *: 80GiB",
                  "weight of queue research: 1 to 3", "borrowing of queue research: on to off"));
  terms = {};
  terms.guarantee = queue.guarantee;
  terms.limit.emplace();
  terms.weight = 1;
  terms.borrows = true;
  EXPECT_THAT(effectsOnQueue(queue, terms).effects, IsEmpty());
}

TEST(ChangeEffects, QueueAboveItsLimit_Warnings) {
  kube::Queue queue;
  queue.meta.name = "research";
  queue.guarantee = {{"*", 4000, {}}};
  queue.status.used = {{"*", 3000, {}}};
  queue.status.fault = "its parent is missing";
  console::QueueTerms terms;
  terms.limit = std::vector<kube::QueueAmount>{{"*", 2000, {}}};
  EXPECT_THAT(effectsOnQueue(queue, terms).warnings,
              ElementsAre(HasSubstr("uses more than the limit (*: 3 devices)"),
                          HasSubstr("guarantee is above the limit (*: 4 devices)"),
                          HasSubstr("not in force now: its parent is missing")));
}

TEST(ChangeEvent, LongText_CutAtCharacter) {
  ChangeEvent event;
  event.object = {"v1", "Node", "", "n", "u"};
  event.reason = "DeviceCordoned";
  for (int i = 0; i < 600; ++i) event.message += "ü";
  const kube::Call call = changeEventCall(event, 1'767'323'045'000'000'007, false);
  EXPECT_EQ(call.path, "/api/v1/namespaces/default/events");
  const boost::json::value body = boost::json::parse(call.body);  // throws on half a character
  const std::string message = textAt(body, {"message"});
  EXPECT_LE(message.size(), 1000u);
  EXPECT_TRUE(message.ends_with("ü...")) << message;
  EXPECT_EQ(textAt(body, {"lastTimestamp"}), "2026-01-02T03:04:05Z");
  EXPECT_EQ(memberAt(body, {"involvedObject", "namespace"}), nullptr);
  EXPECT_EQ(textAt(body, {"metadata", "name"}).find("n.1886"), 0u);
}

}  // namespace
}  // namespace divvy::cli
