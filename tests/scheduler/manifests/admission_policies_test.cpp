// Which annotations are guarded, and whom policies name.
#include <gtest/gtest.h>

#include "manifests/protected_annotations.h"
#include "scheduler/admission_policies.h"
#include "scheduler/manifests.h"

namespace divvy::scheduler {
namespace {

vendors::Catalog catalog() {
  return *vendors::Catalog::of(vendors::builtIn());
}

TEST(ProtectedAnnotations, AssignmentKeys_AreProtected) {
  const AnnotationKeys pods = guardedOfPods(catalog());
  for (const char* key :
       {"hami.io/vgpu-devices-to-allocate", "hami.io/vgpu-devices-allocated",
        "hami.io/dcu-devices-to-allocate", "hami.io/Ascend910B3-devices-allocated",
        "hami.io/vgpu-node", "hami.io/vgpu-time", "hami.io/bind-phase", "hami.io/bind-time",
        "hami.io/vgpu-mig-allocations", "divvy.dev/requeued-at", "divvy.dev/anything"})
    EXPECT_TRUE(pods.has(key)) << key;
  const AnnotationKeys nodes = guardedOfNodes(catalog());
  for (const char* key : {"hami.io/node-nvidia-register", "hami.io/node-register-Ascend910B3",
                          "hami.io/node-handshake", "hami.io/node-handshake-dcu",
                          "hami.io/node-nvidia-score", "hami.io/mutex.lock", "divvy.dev/anything"})
    EXPECT_TRUE(nodes.has(key)) << key;
}

TEST(ProtectedAnnotations, RequestKeys_AreFree) {
  const AnnotationKeys pods = guardedOfPods(catalog());
  for (const char* key :
       {"hami.io/node-scheduler-policy", "hami.io/gpu-scheduler-policy", "nvidia.com/use-gputype",
        "nvidia.com/nouse-gpuuuid", "hami.io/use-Ascend910B3-uuid", "nvidia.com/vgpu-mode",
        "hami.io/device-scoring-weights", "hami.io/-devices", "divvy.dev", "example.com/divvy.dev/",
        "example.com/vgpu-devices-allocated", "hami.io/vgpu-nodes"})
    EXPECT_FALSE(pods.has(key)) << key;
  // Operators say on nodes what is not to be used.
  EXPECT_FALSE(guardedOfNodes(catalog()).has("hami.io/device-cordon"));
}

TEST(ProtectedAnnotations, Cel_SaysSameKeys) {
  AnnotationKeys keys;
  keys.names = {"a/b", "a/c"};
  keys.families = {{"d/", ""}, {"", "-e"}, {"f/", "-g"}};
  EXPECT_EQ(keys.cel(),
            "k in ['a/b', 'a/c'] || k.startsWith('d/') || k.endsWith('-e') || "
            "(k.startsWith('f/') && k.endsWith('-g'))");
}

TEST(AdmissionPolicies, EachResource_IsNamed) {
  const std::string text = *policies(catalog(), {});
  for (const std::string& name : resourceNames(catalog()))
    EXPECT_NE(text.find('\'' + name + '\''), std::string::npos) << name;
}

TEST(AdmissionPolicies, OtherWriters_NamedWhereAllowed) {
  PolicyOptions terms;
  terms.writers = {"system:serviceaccount:kube-system:hami-scheduler"};
  terms.binders = {"binder"};
  terms.schedulers = {"hami-scheduler"};
  const std::string text = *policies(catalog(), terms);
  const auto times = [&](const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++count;
    return count;
  };
  // Assignments, bindings, registrations, gates, priority.
  EXPECT_EQ(times("'system:serviceaccount:kube-system:hami-scheduler'"), 5u);
  EXPECT_EQ(times("'binder'"), 1u);
  EXPECT_EQ(times("['divvy-scheduler', 'hami-scheduler']"), 1u);
}

TEST(AdmissionPolicies, HighPriority_ClassesOfScheduler) {
  const auto high = [](const std::string& classes, const std::string& values) {
    PolicyOptions terms;
    EXPECT_TRUE(readPriorityClasses(classes, &terms.priorities));
    EXPECT_TRUE(readPriorityValues(values, &terms.priorities));
    const std::string text = *policies(catalog(), terms);
    const std::string before = "- name: high\n      expression: >-\n          ";
    const std::size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos);
    const std::size_t begin = at + before.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const std::string cls = "object.spec.?priorityClassName.orValue('')";
  const std::string value = "object.spec.?priority.orValue(0)";
  EXPECT_EQ(high("", ""), "false");
  EXPECT_EQ(high("batch=low,web=normal", "5=normal"), "false");
  EXPECT_EQ(high("serve=high,batch=low,chat=high", ""), cls + " in ['chat', 'serve']");
  EXPECT_EQ(high("", "100=high,0=normal"), "(((" + value + " >= 100)))");
  EXPECT_EQ(high("batch=low,serve=high", "10=high,20=normal,30=high"),
            cls + " in ['serve'] || (!(" + cls + " in ['batch', 'serve']) && ((" + value +
                " >= 10 && " + value + " < 20) || (" + value + " >= 30)))");
}

TEST(AdmissionPolicies, PriorityClassWithQuote_IsRefused) {
  PolicyOptions terms;
  terms.priorities.by_class = {{"a'] || true || ['", "high"}};
  EXPECT_FALSE(policies(catalog(), terms).has_value());
}

TEST(AdmissionPolicies, NameWithQuote_IsRefused) {
  for (const char* bad : {"", "a'", "a\\", "a b", "a\n", "x'] || true || ['"}) {
    PolicyOptions terms;
    terms.writers = {bad};
    const Result<std::string> made = policies(catalog(), terms);
    ASSERT_FALSE(made.has_value()) << bad;
    EXPECT_EQ(made.error().code(), ErrorCode::kUsage);
    EXPECT_NE(made.error().message().find("accepted"), std::string::npos);
  }
}

}  // namespace
}  // namespace divvy::scheduler
