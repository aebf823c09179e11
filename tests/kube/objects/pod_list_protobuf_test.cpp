// Pods in protobuf are read as the same pods in JSON are, and bytes that are none as an error.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>

#include "objects/pod_list_protobuf.h"
#include "objects/protobuf_reader.h"
#include "pod_writer.h"

namespace divvy::kube {
namespace {

namespace json = boost::json;

// With every member that is read, none of them as it is where nothing is said, and some that
// nobody reads.
constexpr const char* kFull = R"({
  "metadata": {"name": "n", "generateName": "n-", "namespace": "s", "uid": "u",
    "resourceVersion": "12", "generation": 3, "creationTimestamp": "2026-11-23T16:00:00Z",
    "deletionTimestamp": "2026-11-23T17:00:00Z", "deletionGracePeriodSeconds": 30,
    "labels": {"a": "b", "": "ö"}, "annotations": {"nvidia.com/x": "GPU-a,NVIDIA,1,2:;", "e": ""},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "y"},
      {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "y", "controller": true}],
    "finalizers": ["f", "g"], "managedFields": [{"manager": "m", "operation": "Update",
      "time": "2026-11-23T16:00:00Z"}]},
  "spec": {"volumes": [{"name": "v"}], "restartPolicy": "Always",
    "containers": [{"name": "c", "image": "i", "command": ["a", "b"],
      "env": [{"name": "A", "value": "b"}],
      "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m"}},
      "imagePullPolicy": "Always", "securityContext": {"privileged": true, "runAsUser": 0}},
      {"name": "d", "resources": {}, "restartPolicy": "Always"}],
    "initContainers": [{"name": "i", "resources": {}}, {"name": "j", "resources": {},
      "restartPolicy": "Always"}],
    "terminationGracePeriodSeconds": 7, "nodeSelector": {"k": "v"}, "nodeName": "node",
    "hostNetwork": true, "schedulerName": "divvy", "priorityClassName": "high",
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    "priority": -5, "preemptionPolicy": "Never", "overhead": {"cpu": "250m"},
    "schedulingGates": [{"name": "divvy.dev/queue"}, {"name": "other"}],
    "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "8"}}},
  "status": {"phase": "Running", "message": "m", "podIP": "10.0.0.1",
    "startTime": "2026-11-23T16:00:01Z", "qosClass": "Burstable", "nominatedNodeName": "nominee",
    "conditions": [
      {"type": "PodScheduled", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": "2026-11-23T16:00:02Z"},
      {"type": "divvy.dev/DevicesFit", "status": "False", "lastProbeTime": null,
        "lastTransitionTime": "2026-11-23T16:00:03Z", "reason": "NoRoom", "message": "why"}]}})";

json::value listOf(json::array pods, std::string next = "") {
  json::object meta{{"resourceVersion", "77"}};
  if (!next.empty()) meta["continue"] = next;
  return json::object{{"metadata", std::move(meta)}, {"items", std::move(pods)}};
}

std::string full() {
  return podListBytes(listOf({json::parse(kFull), json::parse(kFull)}, "a/b="));
}

// Regression by construction: whoever gives pods another member has to name it here, and to say it
// in kFull, or this does not compile, or fails.
TEST(PodListPage, ProtobufAndJson_EveryMemberRead) {
  const Result<Pod> text = podOf(json::parse(kFull));
  ASSERT_TRUE(text) << text.error().message();
  const Result<PodListPage> page = podPageOf(full());
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->pods.size(), 2u);
  EXPECT_TRUE(page->pods[0] == *text);
  EXPECT_TRUE(page->pods[1] == *text);
  EXPECT_EQ(page->version, "77");
  EXPECT_EQ(page->next, "a/b=");
  const auto& [meta, node, scheduler, init, containers, gates, priority, preempts, controller,
               requests, overhead, grace, placed_at, nominated, phase, created, conditions] = *text;
  const auto& [name, namespace_name, uid, version, labels, annotations, deleting] = meta;
  const Pod none;
  EXPECT_TRUE(name != "" && namespace_name != "" && uid != "" && version != "" && deleting);
  EXPECT_TRUE(labels.size() == 2 && annotations.size() == 2);
  EXPECT_TRUE(node != "" && scheduler != "" && priority != 0 && !preempts && controller != "");
  EXPECT_TRUE(requests.size() == 1 && overhead.size() == 1 && gates.size() == 2);
  EXPECT_TRUE(grace != none.grace && placed_at != 0 && nominated != "" && phase != none.phase);
  EXPECT_EQ(created, "2026-11-23T16:00:00Z");
  EXPECT_EQ(conditions, (std::vector<PodCondition>{{"divvy.dev/DevicesFit", "False", "why"}}));
  ASSERT_TRUE(init.size() == 2 && containers.size() == 2);
  EXPECT_TRUE(!init[0].sidecar && init[1].sidecar && !containers[1].sidecar);
  const auto& [its_name, limits, asked, privileged, sidecar] = containers[0];
  EXPECT_TRUE(its_name != "" && limits.size() == 2 && asked.size() == 1 && privileged && !sidecar);
}

// Some members of kFull, in any depth, are left out.
json::value thinned(const json::value& from) {
  if (const json::object* object = from.if_object()) {
    json::object some;
    for (const auto& [name, value] : *object)
      if (*rc::gen::inRange(0, 4) != 0) some[name] = thinned(value);
    return some;
  }
  if (const json::array* list = from.if_array()) {
    json::array some;
    for (const json::value& value : *list)
      for (int times = *rc::gen::inRange(0, 3); times > 0; --times) some.push_back(thinned(value));
    return some;
  }
  return from;
}

RC_GTEST_PROP(PodListPage, ThinnedPods_ReadAsTheirJson, ()) {
  json::array pods;
  std::vector<Pod> expected;
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    pods.push_back(thinned(json::parse(kFull)));
    const Result<Pod> pod = podOf(pods.back());
    RC_ASSERT(pod.has_value());
    expected.push_back(*pod);
  }
  const Result<PodListPage> page = podPageOf(podListBytes(listOf(std::move(pods))));
  RC_ASSERT(page.has_value());
  RC_ASSERT(page->pods == expected);
  RC_ASSERT(page->next.empty());
}

// ---- what is none -------------------------------------------------------------------------------

TEST(PodListPage, CutAnywhere_CorruptOrComplete) {
  const std::string bytes = full();
  const Result<PodListPage> whole = podPageOf(bytes);
  ASSERT_TRUE(whole);
  std::size_t errors = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Result<PodListPage> page = podPageOf(std::string_view(bytes).substr(0, length));
    if (page) {
      EXPECT_EQ(page->pods, whole->pods) << length;
    } else {
      EXPECT_EQ(page.error().code(), ErrorCode::kCorrupt);
    }
    errors += page ? 0 : 1;
  }
  // What is behind the list itself says nothing.
  EXPECT_GE(errors, bytes.size() - 5);
}

// Under the address sanitizer: nothing outside is read, whatever lengths say.
TEST(PodListPage, AnyByteChanged_PageOrCorrupt) {
  const std::string bytes = podListBytes(listOf({json::parse(kFull)}, "a"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string other = bytes;
      other[at] = static_cast<char>(value);
      const Result<PodListPage> page = podPageOf(other);
      EXPECT_TRUE(page || page.error().code() == ErrorCode::kCorrupt);
      (void)podsGoOnAt(other);
    }
  }
}

std::string framed(const std::string& list) {
  // Its own length is one byte: enough for these.
  const std::string type("\x0a\x0d\x0a\x02v1\x12\x07PodList", 15);
  return std::string("k8s\0", 4) + type + '\x12' + static_cast<char>(list.size()) + list;
}

TEST(PodListPage, InvalidEncodings_Corrupt) {
  ASSERT_TRUE(podPageOf(framed("")));
  const std::string meta("\x12\x04\x0a\x02", 4);  // a pod, its metadata, two bytes of that
  const std::vector<std::pair<std::string, std::string>> all{
      {"no magic", full().substr(4)},
      {"another magic", "k8s\x01" + full().substr(4)},
      {"nothing", ""},
      {"JSON", "{}"},
      {"another kind", std::string("k8s\0\x0a\x06\x12\x04Node\x12\x00", 14)},
      {"longer than it is", framed(std::string("\x12\x7f", 2))},
      {"a length of 2^63", framed("\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f")},
      {"a number without end", framed("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")},
      {"a group", framed("\x1b\x1c")},
      {"field 0", framed(std::string("\x02\x00", 2))},
      {"an item that is a number", framed("\x10\x01")},
      {"a name that is a number", framed(meta + "\x08\x01")},
      {"a name that is not UTF-8", framed("\x12\x05\x0a\x03\x0a\x01\xff")},
      {"half a rune", framed("\x12\x05\x0a\x03\x0a\x01\xc3")},
      {"a surrogate", framed("\x12\x07\x0a\x05\x0a\x03\xed\xa0\x80")}};
  for (const auto& [what, bytes] : all) {
    const Result<PodListPage> page = podPageOf(bytes);
    ASSERT_FALSE(page.has_value()) << what;
    EXPECT_EQ(page.error().code(), ErrorCode::kCorrupt);
    EXPECT_FALSE(page.error().message().empty());
    EXPECT_EQ(podsGoOnAt(bytes), what == "no magic" ? "" : podsGoOnAt(bytes));
  }
}

TEST(PodListPage, UnknownFields_Skipped) {
  // Of every form that there is: number, eight bytes, bytes, four bytes.
  const std::string odd(
      "\xf8\x3f\x05\xf9\x3f"
      "12345678"
      "\xfa\x3f\x02hi"
      "\xfd\x3f"
      "1234",
      24);
  const std::string pod = odd + std::string("\x0a\x03\x0a\x01n", 5);
  const Result<PodListPage> page =
      podPageOf(framed(odd + '\x12' + static_cast<char>(pod.size()) + pod));
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->pods.size(), 1u);
  EXPECT_EQ(page->pods[0].meta.name, "n");
}

TEST(PodListPage, FirstBytes_TellContinueToken) {
  EXPECT_EQ(podsGoOnAt(full()), "a/b=");
  EXPECT_EQ(podsGoOnAt(podListBytes(listOf({}))), "");
  EXPECT_EQ(podsGoOnAt("k8s"), "");
}

}  // namespace
}  // namespace divvy::kube
