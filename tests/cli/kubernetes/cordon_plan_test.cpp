// Which devices are meant by what is said of a node, and what its annotation says then.
#include "kubernetes/cordon_plan.h"

#include <gtest/gtest.h>

#include "scheduler/resource_catalog.h"

namespace divvy::cli {
namespace {

const vendors::Catalog& catalog() {
  static const Result<vendors::Catalog> all = scheduler::readCatalog({}, {}, "");
  EXPECT_TRUE(all) << all.error().message();
  return *all;
}

scheduler::DeviceUsage device(std::size_t index, const std::string& kind = "NVIDIA") {
  scheduler::DeviceUsage made;
  made.node = "n";
  made.index = index;
  made.uuid = "GPU-" + std::to_string(index);
  made.kind = kind;
  return made;
}

std::set<std::string> closed(const Result<Cordons>& cordons) {
  EXPECT_TRUE(cordons) << cordons.error().message();
  EXPECT_EQ(cordons->size(), 1u);
  EXPECT_EQ(cordons->begin()->first, "hami.io/device-cordon");
  return cordons->begin()->second;
}

TEST(Cordon, IndexUuidOrNone_SelectsDevices) {
  const std::vector<scheduler::DeviceUsage> two{device(0), device(1)};
  EXPECT_EQ(closed(cordonsOf(two, "n", "1", catalog())), (std::set<std::string>{"GPU-1"}));
  EXPECT_EQ(closed(cordonsOf(two, "n", "GPU-0", catalog())), (std::set<std::string>{"GPU-0"}));
  EXPECT_EQ(closed(cordonsOf(two, "n", "", catalog())), (std::set<std::string>{"GPU-0", "GPU-1"}));
}

// Agents that do not number their devices say 0 of each.
TEST(Cordon, AmbiguousIndex_Refused) {
  std::vector<scheduler::DeviceUsage> two{device(0), device(1)};
  two[1].index = 0;
  const Result<Cordons> either = cordonsOf(two, "n", "0", catalog());
  ASSERT_FALSE(either);
  EXPECT_EQ(either.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(closed(cordonsOf(two, "n", "GPU-1", catalog())), (std::set<std::string>{"GPU-1"}));
}

TEST(Cordon, UnknownDeviceOrNode_RefusedWithAccepted) {
  const Result<Cordons> wrong = cordonsOf({device(0)}, "n", "7", catalog());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(wrong.error().message().find("accepted: 0 (GPU-0)"), std::string::npos);
  const Result<Cordons> elsewhere = cordonsOf({device(0)}, "m", "", catalog());
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().message().find("divvy gpus --cluster"), std::string::npos);
}

// An annotation that nobody reads would be a promise that is not kept.
TEST(Cordon, VendorWithoutAnnotation_Unsupported) {
  const Result<Cordons> other = cordonsOf({device(0, "MLU")}, "n", "", catalog());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(other.error().message().find("kubectl cordon n"), std::string::npos);
}

// The scheduler would count one less there, and the plugin might give that very one.
TEST(Cordon, OneOfPluginsDevices_UnsupportedButAllAccepted) {
  std::vector<scheduler::DeviceUsage> two{device(0), device(1)};
  for (scheduler::DeviceUsage& one : two) one.by_plugin = true;
  const Result<Cordons> one = cordonsOf(two, "n", "1", catalog());
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(closed(cordonsOf(two, "n", "", catalog())).size(), 2u);
}

TEST(Cordon, AnnotationList_OthersKeptWithoutDuplicates) {
  EXPECT_EQ(listWith("", {"b", "a"}), "a,b");
  EXPECT_EQ(listWith("z, a,,", {"a", "b"}), "z,a,b");
  EXPECT_EQ(listWithout("z,a,b", {"a", "c"}), "z,b");
  EXPECT_EQ(listWithout("a", {"a"}), "");
}

TEST(Cordon, PodWithoutControllerOrNotEvictable_NotEvicted) {
  kube::Pod pod;
  EXPECT_EQ(whyNotToEvict(pod), "no controller would recreate it");
  pod.meta.deleting = true;
  EXPECT_EQ(whyNotToEvict(pod), "") << "it leaves already";
  pod.meta.deleting = false;
  pod.controller = "DaemonSet";
  EXPECT_NE(whyNotToEvict(pod), "");
  pod.controller = "ReplicaSet";
  EXPECT_EQ(whyNotToEvict(pod), "");
  pod.meta.annotations["use.divvy.dev/evictable"] = "";
  EXPECT_EQ(whyNotToEvict(pod), "") << "nothing is said";
  pod.meta.annotations["use.divvy.dev/evictable"] = "true";
  EXPECT_EQ(whyNotToEvict(pod), "");
  pod.meta.annotations["use.divvy.dev/evictable"] = "false";
  EXPECT_NE(whyNotToEvict(pod), "");
  EXPECT_FALSE(isStatic(pod));
  pod.meta.annotations = {{"kubernetes.io/config.mirror", "x"}};
  EXPECT_TRUE(isStatic(pod));
  EXPECT_NE(whyNotToEvict(pod), "");
}

}  // namespace
}  // namespace divvy::cli
