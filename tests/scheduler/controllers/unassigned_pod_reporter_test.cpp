// Which pods slipped past the webhook, and what is said of them.
#include "controllers/unassigned_pod_reporter.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

vendors::Catalog catalog() {
  return *vendors::Catalog::of(vendors::builtIn());
}

kube::Pod podWith(const std::string& resource) {
  kube::Pod pod;
  pod.meta.name = "p";
  pod.meta.namespace_name = "s";
  pod.meta.uid = "0123456789";
  pod.node = "n";
  pod.containers.emplace_back().limits = {{resource, "1"}};
  return pod;
}

TEST(UnassignedPodReporter, PodWithUnassignedDevices_IsReported) {
  const vendors::Catalog all = catalog();
  EXPECT_TRUE(isStray(podWith("nvidia.com/gpu"), all));
  kube::Pod before = podWith("cpu");
  before.init = podWith("nvidia.com/gpu").containers;
  EXPECT_TRUE(isStray(before, all));

  EXPECT_FALSE(isStray(podWith("cpu"), all));
  kube::Pod waits = podWith("nvidia.com/gpu");
  waits.node.clear();
  EXPECT_FALSE(isStray(waits, all));
  kube::Pod ended = podWith("nvidia.com/gpu");
  ended.phase = kube::PodPhase::kSucceeded;
  EXPECT_FALSE(isStray(ended, all));
  kube::Pod given = podWith("nvidia.com/gpu");
  given.meta.annotations["hami.io/vgpu-devices-allocated"] = "GPU-a,NVIDIA,1,1:;";
  EXPECT_FALSE(isStray(given, all));
}

TEST(UnassignedPodReporter, Event_NamesSchedulerAndNode) {
  kube::Pod pod = podWith("nvidia.com/gpu");
  pod.scheduler = "volcano";
  const json::value event = json::parse(strayEvent(pod, "divvy-scheduler", 1'800'000'000));
  EXPECT_EQ(event.at("metadata").at("name"), "p.01234567");
  EXPECT_EQ(event.at("metadata").at("namespace"), "s");
  EXPECT_EQ(event.at("involvedObject").at("uid"), "0123456789");
  EXPECT_EQ(event.at("reason"), "DevicesWithoutAssignment");
  EXPECT_EQ(event.at("firstTimestamp"), "2027-01-15T08:00:00Z");
  EXPECT_NE(event.at("message").as_string().find("bound to n by volcano"), json::string::npos);
}

}  // namespace
}  // namespace divvy::scheduler
