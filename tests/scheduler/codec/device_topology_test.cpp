// Which devices of a node are linked, as nodes of every vendor tell of it, and what follows.
#include <gtest/gtest.h>

#include "annotations/placement_annotations.h"
#include "codec/pod_request.h"
#include "scheduler/cache.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};

std::uint32_t scoreOf(const engine::Node& node, const std::string& a, const std::string& b) {
  for (const engine::Link& link : node.links)
    if ((link.a.text == a && link.b.text == b) || (link.a.text == b && link.b.text == a))
      return link.direct ? link.score : 0;
  return 0;
}

NodeDescription described(const kube::Node& node) {
  Result<NodeDescription> read = describe(node, allVendors());
  EXPECT_TRUE(read.has_value()) << read.error().message();
  return read ? *read : NodeDescription{};
}

kube::Node kunlun(const std::string& cards) {
  kube::Node node;
  node.meta.name = "k";
  node.meta.uid = "1";
  node.capacity = node.allocatable = {{"kunlunxin.com/xpu", cards}};
  return node;
}

TEST(DeviceTopology, KunlunEightDevices_LinksOfDescriptor) {
  const NodeDescription eight = described(kunlun("8"));
  const auto linked = [&](int a, int b) {
    return scoreOf(eight.node, "k-kunlun-" + std::to_string(a), "k-kunlun-" + std::to_string(b)) >
           0;
  };
  EXPECT_EQ(eight.node.links.size(), 16u);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b)
      EXPECT_EQ(linked(a, b), a != b && (a / 4 == b / 4 || a % 4 == b % 4)) << a << ' ' << b;
  EXPECT_TRUE(described(kunlun("4")).node.links.empty()) << "it is known of nodes with eight";
}

TEST(DeviceTopology, LinkZones_LinkSameZone) {
  kube::Node node;
  node.meta.name = "m";
  const auto device = [](const std::string& uuid, const std::string& zone) {
    return R"({"uuid":")" + uuid + R"(","totalDevCount":16,"totalVRam":65536,"healthy":true)" +
           (zone.empty() ? "" : R"(,"linkZone":)" + zone) + "}";
  };
  node.meta.annotations["metax-tech.com/node-gpu-devices"] =
      "[" + device("a", "1") + "," + device("b", "2") + "," + device("c", "1") + "," +
      device("d", "-1") + "," + device("e", "") + "]";
  const NodeDescription one = described(node);
  ASSERT_EQ(one.node.links.size(), 1u);
  EXPECT_GT(scoreOf(one.node, "a", "c"), 0u);
}

TEST(DeviceTopology, ScoreAnnotation_LowerOfTwoCounts) {
  kube::Node node = nodeWith("nvidia");
  const NodeDescription plain = described(node);
  EXPECT_TRUE(plain.node.links.empty());
  ASSERT_GE(plain.node.devices.size(), 2u);
  const std::string a = plain.node.devices[0].uuid.text;
  const std::string b = plain.node.devices[1].uuid.text;
  const auto say = [&](int there, int back) {
    node.meta.annotations["hami.io/node-nvidia-score"] =
        R"([{"uuid":")" + a + R"(","score":{")" + b + R"(":)" + std::to_string(there) +
        R"(,"gone":100}},{"uuid":")" + b + R"(","score":{")" + a + R"(":)" + std::to_string(back) +
        "}}]";
    return described(node).node.links;
  };
  ASSERT_EQ(say(220, 220).size(), 1u);
  EXPECT_EQ(say(220, 220)[0].score, 220u);
  EXPECT_TRUE(say(220, 220)[0].direct);
  EXPECT_EQ(say(220, 120)[0].score, 120u) << "the lower one of the two";
  EXPECT_FALSE(say(50, 50)[0].direct) << "one PCIe switch";
  EXPECT_TRUE(say(100, 0).empty());
  node.meta.annotations["hami.io/node-nvidia-score"] = R"([{"uuid":"a","score":{"b":-1}}])";
  const Result<NodeDescription> wrong = describe(node, allVendors());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message().find("hami.io/node-nvidia-score"), std::string::npos)
      << wrong.error().message();
}

TEST(DeviceTopology, NicAnnotation_DistancesAreRead) {
  kube::Node node = nodeWith("nvidia");
  EXPECT_TRUE(described(node).node.nics.empty());
  const std::vector<engine::Device> devices = described(node).node.devices;
  ASSERT_GE(devices.size(), 2u);
  node.meta.annotations["divvy.dev/nics"] =
      R"([{"name":"mlx5_0","distances":{")" + devices[0].uuid.text + R"(":4,")" +
      devices[1].uuid.text + R"(":0,"gone":0}},{"name":"mlx5_1","distances":{}}])";
  const NodeDescription told = described(node);
  ASSERT_EQ(told.node.nics.size(), 2u);
  EXPECT_EQ(told.node.nics[0].name.text, "mlx5_0");
  for (const engine::Nic& nic : told.node.nics)
    ASSERT_EQ(nic.distances.size(), devices.size()) << "the engine refuses others";
  EXPECT_EQ(told.node.nics[0].distances[0], 4u);
  EXPECT_EQ(told.node.nics[0].distances[1], 0u);
  EXPECT_GT(told.node.nics[1].distances[0], 5u) << "of which nothing is said";
  EXPECT_TRUE(told.unread.empty());
  node.meta.annotations["divvy.dev/nics"] = R"([{"name":""}])";
  EXPECT_TRUE(described(node).node.nics.empty());
  ASSERT_EQ(described(node).unread.size(), 1u) << "pods are placed all the same";
  EXPECT_NE(described(node).unread[0].find("divvy.dev/nics"), std::string::npos);
}

TEST(DeviceTopology, LinkPolicy_PreferredUnlessPodSaysNo) {
  const vendors::LinkRule rule = [] {
    vendors::LinkRule made;
    made.preferred = true;
    made.annotation = "metax-tech.com/sgpu-topology-aware";
    return made;
  }();
  const auto linksWith = [&](const kube::Labels& annotations) {
    const Result<engine::DevicePolicy> policy = withLinks(annotations, {}, rule);
    EXPECT_TRUE(policy.has_value());
    return policy ? policy->links : engine::Preference::kRequired;
  };
  EXPECT_EQ(linksWith({}), engine::Preference::kPreferred);
  EXPECT_EQ(linksWith({{"metax-tech.com/sgpu-topology-aware", "false"}}),
            engine::Preference::kNone);
  EXPECT_FALSE(withLinks({{"metax-tech.com/sgpu-topology-aware", "perhaps"}}, {}, rule));
  EXPECT_EQ(withLinks({}, {}, {})->links, engine::Preference::kNone);
}

kube::Pod pod(const std::string& uid, const std::string& xpus, const kube::Labels& annotations) {
  kube::Pod made;
  made.meta.name = made.meta.uid = uid;
  made.meta.namespace_name = "default";
  made.meta.annotations = annotations;
  kube::PodContainer container;
  container.name = "c";
  container.limits = {{"kunlunxin.com/xpu", xpus}};
  made.containers.push_back(container);
  return made;
}

// What `/bind` writes of it.
std::string given(SchedulerCache& cache, const kube::Pod& one) {
  const std::vector<std::string_view> names{"k"};
  const Result<FilterResult> choice = cache.filterAndReserve(one, names, kLater);
  EXPECT_TRUE(choice.has_value() && choice->node);
  const Result<BindPlan> assigned = cache.assume(one.meta.uid, "k", 1);
  EXPECT_TRUE(assigned.has_value());
  cache.finishBinding(one.meta.uid, BindOutcome::kBound);
  return assigned ? assigned->annotations.at("BAIDU_COM_DEVICE_IDX") : "";
}

TEST(DeviceTopology, PodWithTwoDevices_GetsLinkedPair) {
  SchedulerCache cache(allVendors(), {});
  ASSERT_TRUE(cache.setNode(kunlun("8")));
  const auto uuid = [](int index) { return "k-kunlun-" + std::to_string(index); };
  for (const int index : {0, 1, 5, 6})
    EXPECT_EQ(given(cache, pod("p" + std::to_string(index), "1",
                               {{"baidu.com/use-gpuuuid", uuid(index)}})),
              std::to_string(index));
  // 2, 3, 4 and 7 are left: 2 and 3, 3 and 7, 4 and 7 are linked; 3 and 7 would use up no four.
  const std::string pair = given(cache, pod("two", "2", {}));
  EXPECT_TRUE(pair == "2,3" || pair == "4,7") << pair;
}

TEST(DeviceTopology, KunlunEightDevices_WingsOfDescriptor) {
  const NodeDescription eight = described(kunlun("8"));
  ASSERT_EQ(eight.node.merits.size(), 1u);
  ASSERT_EQ(eight.node.merits[0].wings.size(), 2u);
  EXPECT_EQ(eight.node.merits[0].wings[1].places, (std::vector<std::uint32_t>{4, 5, 6, 7}));
  EXPECT_TRUE(described(kunlun("4")).node.merits.empty()) << "it is known of nodes with eight";
}

TEST(DeviceTopology, MetaxLossAnnotation_MeritsAreRead) {
  kube::Node node;
  node.meta.name = "m";
  node.capacity = node.allocatable = {{"metax-tech.com/gpu", "4"}};
  EXPECT_TRUE(described(node).node.merits.empty());
  const auto say = [&](const std::string& losses) {
    node.meta.annotations["metax-tech.com/gpu.topology.losses"] = losses;
    return describe(node, allVendors());
  };
  const Result<NodeDescription> read = say(R"({"1":123,"2":321})");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  ASSERT_EQ(read->node.merits.size(), 1u);
  EXPECT_EQ(read->node.merits[0].kind.text, "Metax-GPU");
  ASSERT_EQ(read->node.merits[0].losses.size(), 2u);
  EXPECT_EQ(read->node.merits[0].losses[1].devices, 2u);
  EXPECT_EQ(read->node.merits[0].losses[1].value, 321u);
  for (const char* wrong :
       {"[]", "{", R"({"1":-1})", R"({"two":1})", R"({"0":1})", R"({"1":"x"})"}) {
    const Result<NodeDescription> told = say(wrong);
    ASSERT_TRUE(told.has_value()) << "a preference takes no node away: " << wrong;
    EXPECT_TRUE(told->node.merits.empty()) << wrong;
    ASSERT_EQ(told->unread.size(), 1u) << wrong;
    EXPECT_NE(told->unread[0].find("gpu.topology.losses"), std::string::npos) << told->unread[0];
  }
}

engine::Node registered(const std::string& key, const std::vector<std::string>& infos) {
  kube::Node node;
  node.meta.name = "n";
  std::string list;
  for (const std::string& info : infos)
    list += std::string(list.empty() ? "" : ",") + R"({"id":"d)" + std::to_string(list.size()) +
            R"(","count":1,"devmem":65536,"devcore":100,"health":true,"custominfo":)" + info + "}";
  node.meta.annotations[key] = "[" + list + "]";
  return described(node).node;
}

TEST(DeviceTopology, AscendNetworkIds_AreLinkZones) {
  const engine::Node ascend =
      registered("hami.io/node-register-Ascend910B2",
                 {R"({"NetworkID":0})", R"({"NetworkID":1})", R"({"NetworkID":0})"});
  ASSERT_EQ(ascend.links.size(), 1u);
  EXPECT_EQ(ascend.links[0].a, ascend.devices[0].uuid);
  EXPECT_EQ(ascend.links[0].b, ascend.devices[2].uuid);
  ASSERT_EQ(ascend.merits.size(), 1u);
  EXPECT_EQ(ascend.merits[0].together, 10u);
}

TEST(DeviceTopology, VastaiBoards_LinkDiesOnly) {
  const auto die = [](const std::string& board) {
    return R"({"DeviceStrategy":"die","AIC":")" + board + "\"}";
  };
  const engine::Node vastai =
      registered("hami.io/node-va-register", {die("a"), die("b"), die("b"), "null"});
  ASSERT_EQ(vastai.links.size(), 1u);
  EXPECT_EQ(vastai.links[0].a, vastai.devices[1].uuid);
  EXPECT_EQ(vastai.links[0].b, vastai.devices[2].uuid);
  for (const char* odd : {"[]", R"({"NetworkID":"x"})", R"({"NetworkID":1.5})", R"({"AIC":7})"})
    EXPECT_EQ(registered("hami.io/node-va-register", {odd, odd}).devices.size(), 2u) << odd;
  const std::string card = R"({"DeviceStrategy":"card","AIC":"a"})";
  EXPECT_TRUE(registered("hami.io/node-va-register", {card, card}).links.empty());
}

}  // namespace
}  // namespace divvy::scheduler
