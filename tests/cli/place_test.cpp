// Where cards are and when they are used: from the machine to the run's cards, views and snapshot.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "sandbox.h"
#include "sysfs_tree.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

// As a DGX-1 has them: a cube of NVLinks, four to a NUMA node, two to a PCIe switch.
constexpr const char* kCards = "v100x8";

class DeviceTopology : public ::testing::Test {
 protected:
  bj::array cards() {
    const Outcome outcome = sandbox_.divvy({"gpus", "--sim", kCards, "-o", "json"});
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
    boost::system::error_code fault;
    const bj::value value = bj::parse(outcome.out, fault);
    return value.is_array() ? value.get_array() : bj::array();
  }
  // Cards with tenants.
  std::set<std::int64_t> used() {
    std::set<std::int64_t> all;
    for (const bj::value& card : cards())
      if (card.at("tenants").as_int64() > 0) all.insert(card.at("index").as_int64());
    return all;
  }
  static Words run(const Words& options, const Words& command) {
    Words words{"run", "--sim", kCards, "--memory", "1Gi"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  Child holder(const Words& options) {
    Child child = sandbox_.start(run(options, {"sh", "-c", "echo up; read end; true"}));
    EXPECT_TRUE(child.printed("up"));
    return child;
  }
  std::string refusal(const Words& options) {
    const Outcome outcome = sandbox_.divvy(run(options, {"true"}));
    EXPECT_EQ(outcome.code(), 2);  // it could never be
    return outcome.err;
  }
  // Which cards a run gets that has the machine to itself.
  std::set<std::int64_t> alone(const Words& options) {
    Child child = holder(options);
    const std::set<std::int64_t> got = used();
    child.closeInput();
    EXPECT_EQ(child.wait().code(), 0);
    EXPECT_TRUE(sandbox_.tenantCount(0));
    return got;
  }

  SysfsTree tree_;
  Sandbox sandbox_{"sim-v100x8"};
};

using Cards = std::set<std::int64_t>;

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(DeviceTopology, LinkAndNumaPolicies_ChooseDevices) {
  EXPECT_EQ(alone({"--gpus", "2", "--device-policy", "topology-aware"}), (Cards{2, 3}));
  EXPECT_EQ(alone({"--gpus", "4", "--device-policy", "link-strict"}), (Cards{0, 1, 2, 3}));
  const std::string five = refusal({"--gpus", "5", "--device-policy", "link-strict"});
  EXPECT_TRUE(says(five, "link")) << five;
  EXPECT_TRUE(says(five, "--device-policy topology-aware")) << five;
  const std::string nodes = refusal({"--gpus", "5", "--device-policy", "numa-strict"});
  EXPECT_TRUE(says(nodes, "NUMA")) << nodes;
  EXPECT_TRUE(says(nodes, "--gpus 4")) << nodes;
  EXPECT_EQ(alone({"--gpus", "5", "--device-policy", "numa"}).size(), 5u);

  // One card of the first node is taken: four of one node are the other's.
  const Cards first = [&] {
    const Child taken = holder({"--device-policy", "mutex,tightest"});
    const Child four = holder({"--gpus", "4", "--device-policy", "numa-strict"});
    return used();
  }();
  EXPECT_EQ(first, (Cards{0, 4, 5, 6, 7}));
}

TEST_F(DeviceTopology, ViewsAndSnapshot_ShowNumaAndLinks) {
  const bj::array all = cards();
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all.at(0).at("numa").as_int64(), 0);
  EXPECT_EQ(all.at(7).at("numa").as_int64(), 1);
  const bj::array& links = all.at(0).at("links").get_array();
  ASSERT_EQ(links.size(), 4u);
  EXPECT_EQ(bj::serialize(links.at(0)), R"({"device":1,"score":150,"direct":true})");
  EXPECT_EQ(bj::serialize(links.at(3)), R"({"device":4,"score":200,"direct":true})");
  const std::string table = sandbox_.divvy({"gpus", "--sim", kCards}).out;
  EXPECT_TRUE(says(table, "NUMA  LINKS")) << table;
  EXPECT_TRUE(says(table, " 1-4 ")) << table;
  EXPECT_FALSE(says(table, "NICS")) << table;

  const Child pair = holder({"--gpus", "2", "--device-policy", "link-strict"});
  const std::string path = sandbox_.root() + "-snapshot.json";
  EXPECT_EQ(sandbox_.divvy({"snapshot", "--sim", kCards, "-o", path}).code(), 0);
  const Outcome again = sandbox_.divvy({"simulate", "replay", path, "--expect-same"});
  EXPECT_EQ(again.code(), 0) << again.out << again.err;
  std::ifstream file(path);
  const bj::value written = bj::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  std::filesystem::remove(path);
  EXPECT_EQ(written.at("nodes").at(0).at("devices").at(5).at("numa").as_int64(), 1);
  EXPECT_EQ(written.at("nodes").at(0).at("links").as_array().size(), 16u);
}

TEST_F(DeviceTopology, SysfsFiles_GiveNumaAndNics) {
  // Cards 0 and 2, and a NIC with the latter.
  const std::string bridge = "pci0000:35/0000:35:01.0/0000:36:00.0/";
  tree_.device("pci0000:15/0000:15:01.0/0000:17:00.0", 6);
  tree_.device(bridge + "0000:37:00.0/0000:39:00.0", 7);
  tree_.device(bridge + "0000:37:01.0/0000:3a:00.0", 7);
  tree_.nic("mlx5_0", bridge + "0000:37:01.0/0000:3a:00.0");
  sandbox_.set("DIVVY_SYSFS", tree_.root());
  const bj::array all = cards();
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all.at(0).at("numa").as_int64(), 6);
  EXPECT_EQ(all.at(2).at("numa").as_int64(), 7);
  EXPECT_EQ(bj::serialize(all.at(2).at("nics")), R"([{"name":"mlx5_0","distance":1}])");
  EXPECT_TRUE(says(sandbox_.divvy({"gpus", "--sim", kCards}).out, "NICS"));
  EXPECT_EQ(alone({"--device-policy", "nic=mlx5_0"}), (Cards{2}));
  const std::string other = refusal({"--device-policy", "nic=mlx5_1"});
  EXPECT_TRUE(says(other, "mlx5_1") || says(other, "NIC")) << other;
}

TEST_F(DeviceTopology, ExpectedUseDiffers_TenantsShareDevice) {
  const Words day{"--expected-use", "8-20=100%,else=0%", "--device-policy", "spread"};
  const Words night{"--expected-use", "20-8=100%,else=0%", "--device-policy", "spread"};
  std::vector<Child> all;
  for (int i = 0; i < 4; ++i) all.push_back(holder(day));
  for (int i = 0; i < 4; ++i) all.push_back(holder(night));
  const Child ninth = holder({"--expected-use", "8-20=100%,else=0%"});
  // With one that works by night.
  const agent::Snapshot now = sandbox_.snapshot();
  ASSERT_EQ(now.tenants.size(), 9u);
  const auto ofDevice = [&](unsigned device) {
    std::multiset<std::string> uses;
    for (const agent::TenantView& tenant : now.tenants)
      if (tenant.shares.at(0).device == device) uses.insert(tenant.expected_use);
    return uses;
  };
  const unsigned where = now.tenants.back().shares.at(0).device;
  EXPECT_EQ(ofDevice(where), (std::multiset<std::string>{"0-8=100%,8-20=0%,20-24=100%",
                                                         "0-8=0%,8-20=100%,20-24=0%"}));
  const std::string wrong = sandbox_.divvy(run({"--expected-use", "8-20"}, {"true"})).err;
  EXPECT_TRUE(says(wrong, "--expected-use: expected use \"8-20\"; accepted: ")) << wrong;
}

// Of a partitioned card (MIG) the instances are the devices.
TEST(MigInstances, Requests_AdmittedLikeDevices) {
  Sandbox sandbox;
  const std::vector<std::string> half{"run", "--sim",   "h100-mig", "--memory",
                                      "4Gi", "--cores", "50"};
  const auto with = [&](std::vector<std::string> options) {
    std::vector<std::string> words = half;
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/true"});
    return sandbox.divvy(words);
  };
  EXPECT_EQ(with({}).code(), 0);
  EXPECT_EQ(with({"--model", "3g.40gb"}).code(), 0);
  // The largest has less than the card.
  EXPECT_NE(
      sandbox.divvy({"run", "--sim", "h100-mig", "--memory", "60Gi", "--", "/bin/true"}).code(), 0);
  const Outcome two = with({"--gpus", "2"});
  EXPECT_NE(two.code(), 0);
  EXPECT_NE(two.err.find("is a MIG instance; a process can use one"), std::string::npos) << two.err;
}

}  // namespace
}  // namespace divvy::test
