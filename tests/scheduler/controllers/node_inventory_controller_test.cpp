// What a node registers beyond its inventory attracts no pod.
#include "kube/inventory.h"

#include <gtest/gtest.h>

#include "controller_fixture.h"
#include "controllers/node_inventory_controller.h"
#include "kube/registration.h"
#include "scheduler/cache.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};
constexpr const char* kRegistration = "hami.io/node-nvidia-register";
constexpr const char* kModel = "NVIDIA H100 80GB HBM3";
constexpr std::uint64_t kMemory = 81'559;

// One of RFC 9562, by two numbers.
std::string uuidOf(unsigned node, unsigned at) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-%08x-0000-4000-8000-%012x", node, at);
  return text;
}

kube::RegisteredDevice card(const std::string& uuid, const std::string& model = kModel,
                            std::uint64_t mebibytes = kMemory) {
  kube::RegisteredDevice one;
  one.id = uuid;
  one.count = 10;
  one.mebibytes = mebibytes;
  one.cores = 100;
  one.type = model;
  one.healthy = true;
  return one;
}

using Cards = std::vector<kube::RegisteredDevice>;

Cards cardsOf(unsigned node, unsigned count) {
  Cards cards;
  for (unsigned at = 0; at < count; ++at) {
    cards.push_back(card(uuidOf(node, at)));
    cards.back().index = at;
  }
  return cards;
}

kube::Node nodeOf(const std::string& name, const Cards& cards,
                  const std::optional<kube::Inventory>& inventory = {}) {
  kube::Node node;
  node.meta.name = node.meta.uid = name;
  node.meta.annotations[kRegistration] = kube::encode(cards);
  if (inventory) node.meta.annotations[kube::kInventoryKey] = kube::encode(*inventory);
  return node;
}

kube::Inventory recorded(const Cards& cards) {
  return kube::inventoryOf("NVIDIA", cards);
}

class InventoryTest : public ::testing::Test {
 protected:
  std::set<std::string> devicesOn(const std::string& node) {
    std::set<std::string> uuids;
    for (const DeviceUsage& one : cache.nodes().devicesOf(node)) uuids.insert(one.uuid);
    return uuids;
  }
  std::string surplusOf(const std::string& node) {
    const NodeInventory* inventory = cache.nodes().inventoryOf(node);
    std::string all;
    if (inventory != nullptr)
      for (const std::string& line : inventory->surplus) all += line + '\n';
    return all;
  }
  bool fits(const Texts& limits, const Texts& annotations, const std::string& node) {
    kube::Pod pod = *kube::podOf(podObject({limits}, annotations));
    pod.meta.uid = pod.meta.name = "p";
    const std::string_view names[] = {node};
    const Result<FilterResult> choice = cache.filterAndReserve(pod, names, kLater);
    return choice && choice->node.has_value();
  }

  SchedulerCache cache{allVendors(), {}};
};

// An agent that was taken over: 64 cards instead of 2.
TEST_F(InventoryTest, MoreDevicesThanRecorded_GetNoPods) {
  const kube::Inventory two = recorded(cardsOf(1, 2));
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 64), two)));
  EXPECT_EQ(devicesOn("a"), (std::set<std::string>{uuidOf(1, 0), uuidOf(1, 1)}));
  EXPECT_FALSE(fits({{"nvidia.com/gpu", "3"}}, {}, "a"));
  EXPECT_TRUE(fits({{"nvidia.com/gpu", "2"}}, {}, "a"));
  EXPECT_EQ(surplusOf("a"),
            "registers 62 devices NVIDIA H100 80GB HBM3 beyond the 2 of its "
            "inventory (" +
                uuidOf(1, 2) + ", " + uuidOf(1, 3) + ", " + uuidOf(1, 4) + ", ...)\n");
  EXPECT_EQ(cache.nodes().surplusNodes(), 1u);
}

TEST_F(InventoryTest, UnrecordedModel_GetsNoPods) {
  Cards cards = cardsOf(1, 1);
  cards.push_back(card(uuidOf(1, 7), "NVIDIA B200", 180'000));
  ASSERT_TRUE(cache.setNode(nodeOf("a", cards, recorded(cardsOf(1, 1)))));
  EXPECT_FALSE(fits({{"nvidia.com/gpu", "1"}}, {{"use.divvy.dev/model", "B200"}}, "a"));
  EXPECT_TRUE(fits({{"nvidia.com/gpu", "1"}}, {}, "a"));
}

TEST_F(InventoryTest, MoreMemoryOrCoresThanRecorded_Capped) {
  Cards cards = cardsOf(1, 1);
  cards[0].mebibytes = 2 * kMemory;
  cards[0].cores = 200;
  ASSERT_TRUE(cache.setNode(nodeOf("a", cards, recorded(cardsOf(1, 1)))));
  EXPECT_FALSE(fits({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "81560"}}, {}, "a"));
  EXPECT_TRUE(fits({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "81559"}}, {}, "a"));
  EXPECT_NE(surplusOf("a").find("with 163118 MiB; its inventory has 81559 MiB"), std::string::npos);
  EXPECT_NE(surplusOf("a").find("with 200 cores; its inventory has 100"), std::string::npos);
}

TEST_F(InventoryTest, SlightlyMoreMemory_IsAccepted) {
  Cards cards = cardsOf(1, 1);
  cards[0].mebibytes = kMemory + kMemory / 25;
  ASSERT_TRUE(cache.setNode(nodeOf("a", cards, recorded(cardsOf(1, 1)))));
  EXPECT_EQ(surplusOf("a"), "");
}

TEST_F(InventoryTest, ReplacedDevice_TakesOldPlace) {
  Cards cards = cardsOf(1, 2);
  cards[1].id = uuidOf(9, 9);
  ASSERT_TRUE(cache.setNode(nodeOf("a", cards, recorded(cardsOf(1, 2)))));
  EXPECT_EQ(devicesOn("a"), (std::set<std::string>{uuidOf(1, 0), uuidOf(9, 9)}));
  EXPECT_EQ(surplusOf("a"), "");
}

// Of the recorded ones none is displaced, whatever the order of the registration.
TEST_F(InventoryTest, RecordedDevices_ComeFirst) {
  Cards cards{card(uuidOf(9, 9))};
  for (const kube::RegisteredDevice& one : cardsOf(1, 2)) cards.push_back(one);
  ASSERT_TRUE(cache.setNode(nodeOf("a", cards, recorded(cardsOf(1, 2)))));
  EXPECT_EQ(devicesOn("a"), (std::set<std::string>{uuidOf(1, 0), uuidOf(1, 1)}));
}

// Pools and pods name cards by UUID: a card is of the node whose inventory has it. In any order in
// which nodes are told of, and come and go.
TEST_F(InventoryTest, OtherNodesDevice_IsNotCounted) {
  Cards forged = cardsOf(2, 1);
  forged[0].id = uuidOf(1, 0);
  const kube::Node owner = nodeOf("a", cardsOf(1, 1), recorded(cardsOf(1, 1)));
  const kube::Node forger = nodeOf("b", forged, recorded(cardsOf(2, 1)));
  const Texts mine{{"nvidia.com/use-gpuuuid", uuidOf(1, 0)}};
  const Texts one{{"nvidia.com/gpu", "1"}};
  ASSERT_TRUE(cache.setNode(forger));
  EXPECT_TRUE(fits(one, mine, "b")) << "no other node has it";
  ASSERT_TRUE(cache.setNode(owner));
  EXPECT_FALSE(fits(one, mine, "b"));
  EXPECT_TRUE(fits(one, mine, "a"));
  EXPECT_EQ(surplusOf("b"),
            "registers 1 device in the inventory of node a (" + uuidOf(1, 0) + ")\n");
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 1), recorded(cardsOf(1, 0)))));
  EXPECT_TRUE(fits(one, mine, "b")) << "the operator gave it up";
  ASSERT_TRUE(cache.setNode(owner));
  EXPECT_FALSE(fits(one, mine, "b"));
  cache.removeNode("a", "a");
  EXPECT_TRUE(fits(one, mine, "b")) << "its node is gone";
}

// Simulated cards, and those of vendors that number them, are called alike on many nodes.
TEST_F(InventoryTest, NonUniqueIds_BelongToNoNode) {
  const Cards cards{card("GPU-0")};
  ASSERT_TRUE(cache.setNode(nodeOf("a", cards, recorded(cards))));
  ASSERT_TRUE(cache.setNode(nodeOf("b", cards, recorded({card("GPU-1")}))));
  EXPECT_EQ(devicesOn("b"), (std::set<std::string>{"GPU-0"}));
  ASSERT_TRUE(cache.setNode(nodeOf("c", cardsOf(1, 1), recorded(cardsOf(1, 1)))));
  ASSERT_TRUE(cache.setNode(nodeOf("d", cardsOf(1, 1), recorded(cardsOf(1, 1)))));
  EXPECT_EQ(devicesOn("d"), (std::set<std::string>{uuidOf(1, 0)})) << "both are recorded so";
}

TEST_F(InventoryTest, MigInstances_WithinDeviceMemory) {
  constexpr std::uint64_t kInstance = 9'856;
  Cards cards;
  for (unsigned at = 0; at < 12; ++at)
    cards.push_back(card(uuidOf(3, at), std::string(kModel) + " MIG 1g.10gb", kInstance));
  ASSERT_TRUE(cache.setNode(nodeOf("a", cards, recorded(cardsOf(1, 1)))));
  EXPECT_EQ(devicesOn("a").size(), 8u);
  EXPECT_NE(surplusOf("a").find("registers 4 devices"), std::string::npos) << surplusOf("a");
}

// A pod that is there keeps what it has, and its node gets nothing new beyond its inventory.
TEST_F(InventoryTest, DeviceNoLongerRecorded_PodStaysBooked) {
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 2))));
  kube::Pod pod = *kube::podOf(
      podObject({{{"nvidia.com/gpu", "1"}}},
                {{"hami.io/vgpu-node", "a"},
                 {"hami.io/vgpu-devices-allocated", uuidOf(1, 1) + ",NVIDIA,81559,100:;"}}));
  pod.meta.uid = "held";
  pod.node = "a";
  ASSERT_TRUE(cache.setPod(pod));
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 2), recorded(cardsOf(1, 1)))));
  EXPECT_TRUE(fits({{"nvidia.com/gpu", "1"}}, {}, "a"));
  EXPECT_FALSE(fits({{"nvidia.com/gpu", "2"}}, {}, "a"));
  EXPECT_EQ(cache.pods().nodeOf("held"), "a");
}

TEST_F(InventoryTest, DamagedInventory_ClosesNode) {
  kube::Node node = nodeOf("a", cardsOf(1, 2));
  node.meta.annotations[kube::kInventoryKey] = "garbage";
  const Result<void> set = cache.setNode(node);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message().find("divvy.dev/inventory"), std::string::npos);
  EXPECT_FALSE(fits({{"nvidia.com/gpu", "1"}}, {}, "a"));
}

TEST_F(InventoryTest, EachVendor_FirstRegistrationIsRecorded) {
  for (const std::string& vendor : allNodes()) {
    SCOPED_TRACE(vendor);
    kube::Node node = nodeWith(vendor);
    ASSERT_TRUE(cache.setNode(node));
    const NodeInventory* first = cache.nodes().inventoryOf(node.meta.name);
    ASSERT_NE(first, nullptr);
    ASSERT_FALSE(first->registered.models.empty());
    const std::size_t devices = devicesOn(node.meta.name).size();
    const auto record = toRecord(*first, 1'000, 60);
    ASSERT_TRUE(record);
    node.meta.annotations[kube::kInventoryKey] = kube::encode(*record);
    ASSERT_TRUE(cache.setNode(node));
    EXPECT_EQ(surplusOf(node.meta.name), "");
    EXPECT_EQ(devicesOn(node.meta.name).size(), devices);
  }
}

// ---- what is recorded ---------------------------------------------------------------------------

TEST_F(InventoryTest, FirstRegistration_RecordedAndLearns) {
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 1))));
  const auto first = toRecord(*cache.nodes().inventoryOf("a"), 1'000, 60);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->learning_until, "1970-01-01T00:17:40Z");
  EXPECT_EQ(first->models, recorded(cardsOf(1, 1)).models);
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 1), first)));
  EXPECT_FALSE(toRecord(*cache.nodes().inventoryOf("a"), 1'000, 60)) << "nothing is new";
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 3), first)));
  const auto grown = toRecord(*cache.nodes().inventoryOf("a"), 1'059, 60);
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->models, recorded(cardsOf(1, 3)).models);
  EXPECT_EQ(grown->learning_until, first->learning_until) << "it is not put off";
  EXPECT_FALSE(toRecord(*cache.nodes().inventoryOf("a"), 1'060, 60)) << "it learns no more";
}

TEST_F(InventoryTest, NoDevices_NoInventory) {
  kube::Node node;
  node.meta.name = node.meta.uid = "a";
  ASSERT_TRUE(cache.setNode(node));
  EXPECT_FALSE(toRecord(*cache.nodes().inventoryOf("a"), 1'000, 60));
}

TEST_F(InventoryTest, WrittenByAdministrator_IsKept) {
  kube::Inventory written = recorded(cardsOf(1, 1));
  written.models[0].uuids.clear();
  ASSERT_TRUE(cache.setNode(nodeOf("a", cardsOf(1, 4), written)));
  EXPECT_EQ(devicesOn("a").size(), 1u);
  EXPECT_FALSE(toRecord(*cache.nodes().inventoryOf("a"), 1'000, 60));
}

// ---- what is written, at a fake API server ------------------------------------------------------

class InventoryWriteTest : public ControllerTest {
 protected:
  // Sets the node, in the cache too, and tells the controller.
  void tell(const Cards& cards, const std::optional<kube::Inventory>& inventory = {}) {
    node_ = nodeOf("a", cards, inventory);
    boost::json::object object = nodeJson(node_.meta.annotations);
    object["metadata"].as_object()["uid"] = "a";
    api.set(nodePath("a"), std::move(object));
    ASSERT_TRUE(cache.setNode(node_));
    controller.onNodeUpdate(node_);
  }
  std::string written() const { return api.annotation(nodePath("a"), kube::kInventoryKey); }
  std::size_t writes() const { return api.count("PATCH", nodePath("a")); }

  kube::Node node_;
  NodeInventoryController controller{
      loop.get_executor(), *client, cache, {"divvy-scheduler", 3'600, whyNot()}};
};

TEST_F(InventoryWriteTest, FirstRegistration_IsRecordedOnce) {
  tell(cardsOf(1, 2));
  ASSERT_TRUE(until([&] { return !written().empty(); }));
  controller.onNodeUpdate(node_);
  pass(std::chrono::seconds(10));
  EXPECT_EQ(writes(), 1u);
}

TEST_F(InventoryWriteTest, WriteFails_IsRepeatedAfterAPause) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus, .times = 2});
  tell(cardsOf(1, 2));
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  pass(std::chrono::seconds(4));
  EXPECT_EQ(writes(), 1u);
  EXPECT_TRUE(until([&] { return !written().empty(); }));
}

TEST_F(InventoryWriteTest, AnswerLostAfterWrite_NothingChangesAgain) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kAnswerLost});
  tell(cardsOf(1, 2));
  ASSERT_TRUE(until([&] { return writes() == 2; }));
  pass(std::chrono::seconds(10));
  EXPECT_EQ(writes(), 2u);
  EXPECT_FALSE(api.calls("PATCH", nodePath("a"))[1].changed);
}

// A leader that comes back lists all nodes again.
TEST_F(InventoryWriteTest, LeadershipLost_WritesAfterReturn) {
  tell(cardsOf(1, 2));
  why_not = "another leads";
  pass(std::chrono::seconds(10));
  EXPECT_EQ(writes(), 0u);
  why_not.clear();
  controller.onNodeUpdate(node_);
  EXPECT_TRUE(until([&] { return !written().empty(); }));
}

TEST_F(InventoryWriteTest, LeadershipLostMeanwhile_WritesAfterReturn) {
  api.inject({.method = "PATCH", .kind = test::FaultKind::kStatus});
  tell(cardsOf(1, 2));
  ASSERT_TRUE(until([&] { return writes() == 1; }));
  why_not = "another leads";
  pass(std::chrono::seconds(10));
  EXPECT_EQ(writes(), 1u);
  why_not.clear();
  controller.onNodeUpdate(node_);
  EXPECT_TRUE(until([&] { return !written().empty(); }));
}

TEST_F(InventoryWriteTest, NameReused_OtherNodeGetsNoInventory) {
  tell(cardsOf(1, 2));
  boost::json::object other = nodeJson({});
  other["metadata"].as_object()["uid"] = "another";
  api.set(nodePath("a"), other);
  pass(std::chrono::seconds(20));
  EXPECT_EQ(written(), "");
  EXPECT_EQ(writes(), 1u) << "it is not repeated";
}

TEST_F(InventoryWriteTest, Surplus_IsReportedOnceByEvent) {
  tell(cardsOf(1, 64), recorded(cardsOf(1, 2)));
  const std::string events = "/api/v1/namespaces/default/events";
  ASSERT_TRUE(until([&] { return api.count("POST", events) == 1; }));
  controller.onNodeUpdate(node_);
  pass(std::chrono::seconds(10));
  EXPECT_EQ(api.count("POST", events), 1u);
  EXPECT_EQ(writes(), 0u);
  EXPECT_EQ(api.calls("POST", events)[0].json().at("reason").as_string(), "InventoryExceeded");
}

TEST_F(InventoryWriteTest, UnreadableRegistration_NothingIsWritten) {
  node_ = nodeOf("a", cardsOf(1, 2));
  node_.meta.annotations[kRegistration] = "[{]";
  EXPECT_FALSE(cache.setNode(node_));
  controller.onNodeUpdate(node_);
  pass(std::chrono::seconds(10));
  EXPECT_TRUE(api.calls().empty());
}

}  // namespace
}  // namespace divvy::scheduler
