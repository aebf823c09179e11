// A cluster's cards, and who has them, as they are printed.
#include "view/cluster_list_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

namespace divvy::cli {
namespace {

using scheduler::DeviceUsage;

DeviceUsage device(const std::string& node, std::size_t index) {
  DeviceUsage made;
  made.node = node;
  made.index = index;
  made.uuid = "GPU-" + node + std::to_string(index);
  made.model = "H100";
  made.memory = gib(80);
  made.compute = engine::kWholeDevice;
  made.slots = 10;
  return made;
}

std::vector<DeviceUsage> two() {
  std::vector<DeviceUsage> all{device("a", 0), device("a", 1)};
  all[0].promised = gib(20);
  all[0].promised_compute = {305};
  all[0].tenants = 2;
  return all;
}

ClusterShare share() {
  ClusterShare made;
  made.namespace_name = "team";
  made.pod = "p";
  made.container = "c";
  made.node = "a";
  made.uuid = "GPU-a0";
  made.model = "H100";
  made.memory = gib(20);
  made.compute = {305};
  made.state = "running";
  return made;
}

ClusterShare waiting() {
  ClusterShare made;
  made.namespace_name = "team";
  made.pod = "w";
  made.state = "waits";
  made.reason = "no room";
  return made;
}

TEST(ClusterDevices, TwoDevices_RowsAndTotal) {
  EXPECT_EQ(clusterDevicesText(two(), true, 0),
            "NODE   INDEX  MODEL      MEMORY  ALLOCATED  PART  CORES  SHARES  UUID\n"
            "a          0  H100        80GiB      20GiB   25%  30.5%    2/10  GPU-a0\n"
            "a          1  H100        80GiB         0B    0%     0%    0/10  GPU-a1\n"
            "total      -  2 devices  160GiB      20GiB   12%  30.5%    2/20  -\n");
  const std::string bare = clusterDevicesText(two(), false, 0);
  EXPECT_EQ(std::count(bare.begin(), bare.end(), '\n'), 2) << "a line for each device";
}

// Only where there is something to tell of them.
TEST(ClusterDevices, PoolOrClosedDevices_ColumnsOnlyWhereNeeded) {
  std::vector<DeviceUsage> all{device("a", 0)};
  EXPECT_EQ(clusterDevicesText(all, true, 0).find("POOL"), std::string::npos);
  all[0].pool = "train";
  all[0].healthy = false;
  const std::string text = clusterDevicesText(all, true, 0);
  EXPECT_NE(text.find("POOL   CLOSED     UUID"), std::string::npos) << text;
  EXPECT_NE(text.find("train  unhealthy  GPU-a0"), std::string::npos) << text;
  all[0].healthy = all[0].cordoned = true;
  EXPECT_NE(clusterDevicesText(all, true, 0).find("train  cordoned  GPU-a0"), std::string::npos);
  EXPECT_EQ(text.find("total"), std::string::npos) << "one device is its own sum";
}

TEST(ClusterShares, RunningAndWaiting_Listed) {
  EXPECT_EQ(clusterSharesText({share(), waiting()}, true, 0),
            "NAMESPACE  POD  CONTAINER  NODE  DEVICE  MODEL  MEMORY  CORES  STATE    REASON\n"
            "team       p    c          a          0  H100    20GiB  30.5%  running  -\n"
            "team       w    -          -          -  -           -      -  waits    no room\n");
}

TEST(ClusterDevices, JsonOutput_SharesPerDevice) {
  const boost::json::value all =
      boost::json::parse(clusterDevicesJson(two(), {share(), waiting()}));
  const boost::json::array& list = all.as_array();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].at("allocated"), gib(20).count);
  ASSERT_EQ(list[0].at("shares").as_array().size(), 1u);
  EXPECT_EQ(list[0].at("shares").at(0).at("pod"), "p");
  EXPECT_EQ(list[0].at("shares").at(0).at("cores_permille"), 305);
  EXPECT_TRUE(list[1].at("shares").as_array().empty());
}

TEST(ClusterShares, JsonOfWaitingPod_HasNoDevice) {
  const boost::json::value all = boost::json::parse(clusterSharesJson({share(), waiting()}));
  EXPECT_EQ(all.at(0).at("uuid"), "GPU-a0");
  EXPECT_EQ(all.at(1).at("reason"), "no room");
  EXPECT_FALSE(all.at(1).as_object().contains("uuid"));
}

}  // namespace
}  // namespace divvy::cli
