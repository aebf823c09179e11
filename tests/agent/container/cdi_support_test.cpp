#include "container/cdi_support.h"

#include <gtest/gtest.h>

#include "agent/cluster_node.h"

namespace divvy::agent {
namespace {

constexpr const char* kKubelet = "v1.34.4";

TEST(WhyNoCdi, SupportingRuntime_NoReason) {
  for (const char* reads : {"containerd://2.0.0", "containerd://2.2.3-k3s1", "containerd://10.0",
                            "cri-o://1.28.1", "cri-o://1.34.0"})
    EXPECT_EQ(whyNoCdi(reads, kKubelet), "") << reads;
  EXPECT_EQ(whyNoCdi("containerd://2.0.0", "v1.29.0"), "");
}

TEST(WhyNoCdi, UnsupportedRuntime_ReasonIsGiven) {
  EXPECT_EQ(whyNoCdi("containerd://1.6.20~ds1", kKubelet),
            "containerd://1.6.20~ds1 ignores CDI devices");
  EXPECT_EQ(whyNoCdi("containerd://1.7.27", kKubelet),
            "containerd://1.7.27 reads CDI specs only if configured to");
  EXPECT_EQ(whyNoCdi("cri-o://1.27.9", kKubelet), "cri-o://1.27.9 ignores CDI devices");
  for (const char* unknown : {"docker://28.3.0", "containerd", "containerd://", "containerd://x.y",
                              "containerd://2", "2.2.3", "", "://2.0"})
    EXPECT_NE(whyNoCdi(unknown, kKubelet), "") << unknown;
  for (const char* early : {"v1.28.15", "1.20.2", "", "v1"})
    EXPECT_NE(whyNoCdi("containerd://2.2.3", early), "") << early;
}

TEST(InjectionMode, Names_RoundTripAndOthersRefused) {
  for (const InjectionMode one :
       {InjectionMode::kAuto, InjectionMode::kMounts, InjectionMode::kCdi})
    EXPECT_EQ(parseInjecting(injectingName(one)).value(), one);
  EXPECT_EQ(parseInjecting("hooks").error().message(),
            "\"hooks\" is not known; accepted: auto, mounts, cdi");
}

}  // namespace
}  // namespace divvy::agent
