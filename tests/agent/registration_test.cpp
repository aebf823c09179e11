// What an agent writes of its cards is what the scheduler reads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "codec/pod_request.h"
#include "device/device_topology.h"
#include "driver/nvml.h"
#include "pods/pod_allocation.h"
#include "vendors/catalog.h"

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

kube::Node written(const std::vector<Device>& devices, const kube::DeviceScores& scores) {
  kube::Node node;
  node.meta.name = "n";
  node.capacity = node.allocatable = {{"nvidia.com/gpu", "40"}};
  const std::vector<DeviceTerms> terms(devices.size());
  std::vector<std::string> uuids;
  for (const Device& device : devices) uuids.push_back(device.info.uuid);
  node.meta.annotations["hami.io/node-nvidia-register"] =
      kube::encode(registrationOf(devices, terms, 10));
  const std::string text = kube::encode(scores, uuids);
  if (!text.empty()) node.meta.annotations["hami.io/node-nvidia-score"] = text;
  return node;
}

engine::Node readOf(const kube::Node& node) {
  const Result<vendors::Catalog> catalog = vendors::Catalog::of(vendors::builtIn());
  EXPECT_TRUE(catalog);
  const auto read = scheduler::describe(node, *catalog);
  EXPECT_TRUE(read) << read.error().message();
  return read ? read->node : engine::Node{};
}

const engine::Link* between(const engine::Node& node, const std::string& a, const std::string& b) {
  const auto [first, second] = std::minmax(a, b);
  for (const engine::Link& link : node.links)
    if (std::minmax(link.a.text, link.b.text) == std::minmax(first, second)) return &link;
  return nullptr;
}

std::string product(const std::string& name) {
  const char* build = getenv("DIVVY_BUILD_DIR");
  return std::string(build == nullptr ? "." : build) + "/" + name;
}

// From the (simulated) driver to the books of the scheduler.
TEST(Registration, DriverTopology_ReachesScheduler) {
  std::string dir = fs::temp_directory_path() / "divvy-registration-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  setenv("SIMGPU_PROFILE", "a100x4", 1);
  setenv("SIMGPU_DIR", (dir + "/card").c_str(), 1);
  setenv("SIMGPU_NVLINKS", "0-1=4,2-3=2,0>2=1", 1);
  setenv("SIMGPU_NUMA", "0,0,1,1", 1);
  const Result<driver::Nvml> nvml = driver::Nvml::open(product("simgpu/libnvidia-ml.so.1"));
  ASSERT_TRUE(nvml) << nvml.error().message();
  const auto cards = nvml->devices();
  ASSERT_TRUE(cards);
  const driver::Layout layout = driver::layoutOf(*nvml, *cards, "");
  EXPECT_EQ(unevenLinks(*cards, layout).size(), 1u);
  const std::vector<DeviceLocality> places = placesOf(*cards, layout);
  std::vector<Device> devices;
  for (std::size_t i = 0; i < cards->size(); ++i)
    devices.push_back({(*cards)[i], Bytes{}, places[i]});
  const engine::Node node = readOf(written(devices, scoresOf(*cards, layout)));
  ASSERT_EQ(node.devices.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(node.devices[i].numa, i / 2) << i;
  const auto linked = [&](std::size_t a, std::size_t b) {
    const engine::Link* link = between(node, (*cards)[a].uuid, (*cards)[b].uuid);
    return link == nullptr ? std::pair(0u, false) : std::pair(link->score, link->direct);
  };
  EXPECT_EQ(linked(0, 1), std::pair(450u, true));
  EXPECT_EQ(linked(2, 3), std::pair(250u, true));
  EXPECT_EQ(linked(0, 2), std::pair(10u, false)) << "one end does not know of it";
  EXPECT_EQ(linked(1, 3), std::pair(10u, false));
  fs::remove_all(dir);
}

RC_GTEST_PROP(Registration, RandomScores_RoundTrip, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 9);
  std::vector<std::string> uuids;
  for (std::size_t i = 0; i < count; ++i) uuids.push_back("GPU-" + std::to_string(i));
  kube::DeviceScores scores;
  for (std::size_t b = 0; b < count; ++b)
    for (std::size_t a = 0; a < b; ++a)
      scores[{uuids[a], uuids[b]}] = *rc::gen::inRange<std::uint32_t>(1, 2000);
  const std::string text = kube::encode(scores, uuids);
  RC_ASSERT(text.empty() == (count < 2));
  if (text.empty()) return;
  const Result<kube::DeviceScores> read = kube::decodeScores(text);
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == scores);
}

TEST(Registration, UnregisteredDevices_ScoresOmitted) {
  const kube::DeviceScores scores{
      {{"GPU-a", "GPU-b"}, 100}, {{"GPU-a", "GPU-c"}, 200}, {{"GPU-b", "GPU-c"}, 10}};
  EXPECT_EQ(kube::encode(scores, {"GPU-a", "GPU-c"}),
            R"([{"uuid":"GPU-a","score":{"GPU-c":200}},{"uuid":"GPU-c","score":{"GPU-a":200}}])");
  EXPECT_EQ(kube::encode(scores, {"GPU-b"}), "") << "there is nothing to tell of one";
}

}  // namespace
}  // namespace divvy::agent
