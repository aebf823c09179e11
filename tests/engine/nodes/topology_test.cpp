// Which devices of a node: policies of devices, against every set of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "brute.h"
#include "fit/group.h"
#include "some.h"

namespace divvy::engine {
namespace {

using some::connect;

unsigned setOf(const Node& node, const std::vector<Share>& shares) {
  unsigned set = 0;
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    for (const Share& share : shares)
      if (share.uuid == node.devices[i].uuid) set |= 1u << i;
  return set;
}

// What is wanted of a set, in the order in which it matters, and how many wishes it meets.
using Worth = std::tuple<bool, std::int64_t, bool, std::int64_t>;

Worth worth(const Node& node, const DevicePolicy& policy, unsigned set) {
  const brute::Together all = brute::together(node, policy, set);
  DevicePolicy numa_only;
  numa_only.numa = policy.numa;
  DevicePolicy links_only;
  links_only.links = policy.links;
  const bool linked = brute::together(node, links_only, set).wishes > 0;
  return {brute::together(node, numa_only, set).wishes > 0,
          policy.links == Preference::kNone ? 0 : all.links, linked, -all.distance};
}

unsigned wishesOf(const Worth& worth) {
  return (std::get<0>(worth) ? 1 : 0) + (std::get<2>(worth) ? 1 : 0);
}

// The best set on each machine, and the most wishes that one of these meets.
struct Best {
  bool any = false;
  unsigned wishes = 0;
  std::map<std::string, Worth> of;
};

Best bestOf(const brute::World& world, const Request& request) {
  Best best;
  const DevicePolicy& policy = *request.shape.devices;
  const DeviceRequest& ask = request.shape.containers[0].devices;
  for (const auto& [name, machine] : world.machines()) {
    if (world.refusal(machine, request.shape)) continue;
    std::optional<Worth> here;
    for (unsigned set = 1; set < 1u << machine.cards.size(); ++set) {
      bool good = static_cast<std::uint32_t>(__builtin_popcount(set)) == ask.count &&
                  !brute::together(machine.is, policy, set).fault;
      for (std::size_t i = 0; i < machine.cards.size() && good; ++i)
        good = (set >> i & 1) == 0 || brute::willDo(machine.cards[i], ask, request.shape.selector);
      if (!good) continue;
      const Worth is = worth(machine.is, policy, set);
      if (!here || is > *here) here = is;
    }
    if (!here) continue;
    best.any = true;
    best.wishes = std::max(best.wishes, wishesOf(*here));
    best.of[name] = *here;
  }
  return best;
}

Request groupRequest(Rng& rng, const std::string& id) {
  const int compute = rng.below(2) == 0 ? 1000 : 300;
  Request request = some::request(id, static_cast<unsigned>(1 + rng.below(5)), compute, gib(4));
  DevicePolicy policy = some::devicePolicy(rng);
  policy.mutex = false;
  if (policy.links == Preference::kNone && policy.numa == Preference::kNone)
    policy.links = Preference::kPreferred;
  request.shape.devices = policy;
  return request;
}

TEST(Topology, RandomNodes_BestOfAllSets) {
  Rng rng(31);
  std::array<unsigned, 4> wishes{};
  unsigned refused = 0;
  for (unsigned cluster = 0; cluster < 150; ++cluster) {
    Engine engine(Config{kPolicies[1 + cluster % 9], cluster});
    brute::World world;
    for (unsigned n = 0; n < 3; ++n) {
      Node node = some::node("n" + std::to_string(n), static_cast<unsigned>(2 + rng.below(7)));
      connect(rng, &node);
      ASSERT_TRUE(engine.setNode(node));
      world.add(node);
    }
    for (unsigned i = 0; i < 12; ++i) {
      const Request request = groupRequest(rng, std::to_string(i));
      const Best best = bestOf(world, request);
      const Result<Allocation> given = engine.place(request, Instant{1});
      ASSERT_EQ(given.has_value(), best.any) << cluster << "/" << i;
      if (!given) {
        ++refused;
        continue;
      }
      const brute::Machine& machine = world.machines().at(given->placement.node.text);
      const unsigned set = setOf(machine.is, given->placement.containers[0]);
      ASSERT_EQ(world.faultOf(given->placement, request.shape), "");
      const Worth is = worth(machine.is, *request.shape.devices, set);
      ASSERT_EQ(wishesOf(is), best.wishes) << "a node that meets more wishes goes first";
      ++wishes[best.wishes];
      ASSERT_EQ(is, best.of.at(given->placement.node.text)) << cluster << "/" << i;
      world.book(given->placement, 1);
    }
  }
  EXPECT_GT(refused, 100u);
  for (unsigned met = 0; met < 3; ++met) EXPECT_GT(wishes[met], 50u) << met;
}

TEST(Topology, OtherOrderOfNodesAndLinks_SamePlacements) {
  Rng rng(32);
  for (unsigned cluster = 0; cluster < 100; ++cluster) {
    std::vector<Node> nodes;
    for (unsigned n = 0; n < 4; ++n) {
      nodes.push_back(some::node("n" + std::to_string(n), static_cast<unsigned>(2 + rng.below(7))));
      connect(rng, &nodes.back());
    }
    Engine one{Config{}};
    Engine other{Config{}};
    for (const Node& node : nodes) ASSERT_TRUE(one.setNode(node));
    std::reverse(nodes.begin(), nodes.end());
    for (Node& node : nodes) {
      std::reverse(node.links.begin(), node.links.end());
      std::reverse(node.nics.begin(), node.nics.end());
      for (Link& link : node.links) std::swap(link.a, link.b);
      ASSERT_TRUE(other.setNode(node));
    }
    for (unsigned i = 0; i < 12; ++i) {
      Request request = groupRequest(rng, std::to_string(i));
      if (i % 3 == 0) request.shape.containers.push_back(request.shape.containers[0]);
      const Result<Allocation> given = one.place(request, Instant{1});
      const Result<Allocation> again = other.place(request, Instant{1});
      ASSERT_EQ(given.has_value(), again.has_value());
      if (!given) continue;
      ASSERT_EQ(given->placement, again->placement) << cluster << "/" << i;
    }
  }
}

// Eight islands of eight; one of them has faster links, and is taken whole.
TEST(Topology, IslandsAmongManyDevices_BestIslandTaken) {
  Node node = some::node("n", 64);
  for (unsigned a = 0; a < 64; ++a) {
    for (unsigned b = a + 1; b < 64; ++b) {
      const bool island = a / 8 == b / 8;
      const std::uint32_t score = a / 8 == 5 ? 900 : 600;
      node.links.push_back(
          {node.devices[a].uuid, node.devices[b].uuid, island ? score : 10, island});
    }
  }
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(node));
  const auto islandsOf = [&](const Request& request) {
    std::map<unsigned, unsigned> islands;
    const Result<Decision> decision = engine.decide(request);
    if (!decision || !decision->fits()) return islands;
    for (const Share& share : decision->placement->containers[0])
      for (unsigned i = 0; i < 64; ++i)
        islands[i / 8] += node.devices[i].uuid == share.uuid ? 1 : 0;
    std::erase_if(islands, [](const auto& each) { return each.second == 0; });
    return islands;
  };
  Request request = some::request("r", 8, 1000);
  request.shape.devices = parseDevicePolicy("topology-aware").value();
  EXPECT_EQ(islandsOf(request), (std::map<unsigned, unsigned>{{5, 8}}));
  request.shape.containers[0].devices.count = 16;
  const auto two = islandsOf(request);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_EQ(two.count(5), 1u);
  request.shape.devices = parseDevicePolicy("link-strict").value();
  EXPECT_TRUE(islandsOf(request).empty());
  const Result<Decision> why = engine.explain(request);
  ASSERT_EQ(why->refusals.size(), 1u);
  EXPECT_EQ(why->refusals[0].why, NodeWhy::kLinks);
  EXPECT_EQ(text(why->refusals[0]),
            "container 0 needs 16 devices with direct links to each other, 8 fit");
  request.shape.containers[0].devices.count = 7;
  EXPECT_EQ(islandsOf(request), (std::map<unsigned, unsigned>{{5, 7}}));
}

// Where devices are too many to look at all groups, no exchange of one device betters what is
// found.
TEST(Topology, GroupsOfManyDevices_NoSingleExchangeBetter) {
  struct Sum : GroupRule {
    std::array<std::array<std::int64_t, 64>, 64> of{};
    NodeWhy why() const override { return NodeWhy::kLinks; }
    std::int64_t score(DeviceSet group) const override {
      std::int64_t sum = 0;
      for (unsigned a = 0; a < 64; ++a)
        for (unsigned b = 0; b < a; ++b)
          if ((group >> a & 1) != 0 && (group >> b & 1) != 0) sum += of[a][b];
      return sum;
    }
    std::int64_t most(unsigned) const override { return INT64_MAX; }
  };
  Rng rng(33);
  for (unsigned round = 0; round < 20; ++round) {
    auto rule = std::make_unique<Sum>();
    for (auto& row : rule->of)
      for (std::int64_t& each : row) each = static_cast<std::int64_t>(rng.below(100));
    const Sum& sum = *rule;
    Groups::Rules rules;
    rules.push_back(std::move(rule));
    const Groups groups(std::move(rules));
    DeviceList from;
    for (std::uint8_t i = 0; i < 24; ++i) from.at[from.count++] = i;
    const Groups::GroupChoice found = groups.best(from, 6);
    ASSERT_TRUE(found.group);
    ASSERT_EQ(sizeOf(*found.group), 6u);
    for (unsigned out = 0; out < 24; ++out) {
      for (unsigned in = 0; in < 24; ++in) {
        if ((*found.group & only(out)) == 0 || (*found.group & only(in)) != 0) continue;
        ASSERT_LE(sum.score((*found.group & ~only(out)) | only(in)), sum.score(*found.group));
      }
    }
  }
}

TEST(Topology, StrictPoliciesForOneDevice_LinkFitsNumaMustBeKnown) {
  Node node = some::node("n", 2);
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(node));
  Request request = some::request("r", 1, 300);
  request.shape.devices = parseDevicePolicy("link-strict").value();
  EXPECT_TRUE(engine.decide(request)->fits()) << "one is linked to all of one";
  request.shape.devices = parseDevicePolicy("numa-strict").value();
  EXPECT_FALSE(engine.decide(request)->fits()) << "nobody knows where they are";
  node.devices[1].numa = 0;
  ASSERT_TRUE(engine.setNode(node));
  EXPECT_EQ(engine.decide(request)->placement->charges[0].uuid, node.devices[1].uuid);
}

TEST(Topology, TopologyAwareSingle_DeviceWithoutLinksTaken) {
  Node node = some::node("n", 4);
  node.links.push_back({node.devices[0].uuid, node.devices[1].uuid, 400, true});
  node.links.push_back({node.devices[0].uuid, node.devices[3].uuid, 100, true});
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(node));
  Request request = some::request("r", 1, 300);
  request.shape.devices = parseDevicePolicy("topology-aware").value();
  EXPECT_EQ(engine.decide(request)->placement->charges[0].uuid, node.devices[2].uuid);
}

TEST(Topology, NicRequested_NearestDeviceOrRefused) {
  Node node = some::node("n", 4);
  node.nics = {{NicName("mlx5_0"), {0, 0, 3, 3}}, {NicName("mlx5_1"), {3, 3, 1, 0}}};
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(node));
  Request request = some::request("r", 1, 1000);
  request.shape.devices = parseDevicePolicy("nic=mlx5_1").value();
  EXPECT_EQ(engine.decide(request)->placement->charges[0].uuid, node.devices[3].uuid);
  request.shape.devices = parseDevicePolicy("nic=mlx5_7").value();
  const Result<Decision> decision = engine.explain(request);
  ASSERT_EQ(decision->refusals.size(), 1u);
  EXPECT_EQ(text(decision->refusals[0]), "has no NIC of the name that was asked for");
  const auto remedies = engine.remedies(request, node.name);
  ASSERT_EQ(remedies->size(), 1u);
  EXPECT_EQ(text(remedies->front()), "ask without a NIC");
}

// What was decided on is not booked where its devices are not linked any more.
TEST(Topology, LinksChangedAfterDecision_ReserveRefused) {
  Node node = some::node("n", 3);
  node.links.push_back({node.devices[0].uuid, node.devices[1].uuid, 400, true});
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(node));
  Request request = some::request("r", 2, 1000);
  request.shape.devices = parseDevicePolicy("link-strict").value();
  const Result<Decision> decision = engine.decide(request);
  ASSERT_TRUE(decision && decision->fits());
  node.links = {{node.devices[1].uuid, node.devices[2].uuid, 400, true}};
  ASSERT_TRUE(engine.setNode(node));
  const auto given = engine.reserve(request, *decision->placement, Instant{1});
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code(), ErrorCode::kNoRoom);
}

TEST(DeviceOrder, BinpackAndSpread_MostOrLeastUsedDevice) {
  Node node = some::node("n", 3);
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(node));
  const auto on = [&](const std::string& id, const char* policy, int compute, Bytes memory) {
    Request request = some::request(id, 1, compute, memory);
    request.shape.devices = parseDevicePolicy(policy).value();
    return engine.place(request, Instant{1})->placement.charges[0].uuid.text;
  };
  EXPECT_EQ(on("a", "spread", 300, gib(10)), "n/0");
  EXPECT_EQ(on("b", "spread", 100, gib(50)), "n/1");
  EXPECT_EQ(on("c", "spread", 100, gib(1)), "n/2");
  EXPECT_EQ(on("d", "tightest", 0, gib(1)), "n/0") << "the least compute is left there";
  EXPECT_EQ(on("e", "binpack", 0, gib(1)), "n/1") << "the most of slots, compute and memory";
  EXPECT_EQ(on("f", "spread", 100, gib(1)), "n/2");
}

TEST(DeviceOrder, MutexPolicy_DeviceNotShared) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(some::node("n", 2)));
  Request first = some::request("a", 1, 100, gib(1));
  first.shape.devices = parseDevicePolicy("mutex").value();
  first.shape.containers.push_back(first.shape.containers[0]);
  const Result<Allocation> given = engine.place(first, Instant{1});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->placement.charges.size(), 2u) << "its own containers keep apart too";
  const Result<Decision> second = engine.explain(some::request("b", 1, 100, gib(1)));
  ASSERT_EQ(second->refusals.size(), 1u);
  EXPECT_EQ(second->refusals[0].devices[0].why, DeviceWhy::kSlots);
  ASSERT_TRUE(engine.release(RequestId("a")));
  ASSERT_TRUE(engine.place(some::request("b", 1, 100, gib(1)), Instant{1}));
  EXPECT_FALSE(engine.decide(first)->fits()) << "only one is idle";
}

TEST(DevicePolicy, Text_ParsedAndWritten) {
  for (const char* each : {"tightest", "mutex,numa-strict,link-strict,nic=mlx5_0,spread",
                           "numa,topology-aware", "mutex,binpack"})
    EXPECT_EQ(text(parseDevicePolicy(each).value()), each);
  EXPECT_EQ(text(parseDevicePolicy("spread, numa ,numa-strict").value()), "numa-strict,spread");
  for (const char* wrong : {"numa-strickt", "", "spread,", "nic="}) {
    const auto policy = parseDevicePolicy(wrong);
    ASSERT_FALSE(policy) << wrong;
    EXPECT_EQ(policy.error().code(), ErrorCode::kUsage);
    EXPECT_NE(policy.error().message().find("link-strict"), std::string::npos);
  }
}

TEST(Topology, InvalidLinksOrNics_NodeRefused) {
  Engine engine{Config{}};
  const auto said = [&](const auto& change) {
    Node node = some::node("n", 2);
    change(&node);
    const Result<void> set = engine.setNode(node);
    return set ? std::string() : set.error().message();
  };
  const DeviceUuid a("n/0");
  const DeviceUuid b("n/1");
  EXPECT_EQ(said([&](Node* n) { n->links = {{a, b, 1, true}}; }), "");
  EXPECT_NE(said([&](Node* n) { n->links = {{a, a, 1, true}}; }).find("two different"), -1ul);
  EXPECT_NE(said([&](Node* n) {
              n->links = {{a, DeviceUuid("x"), 1, true}};
            }).find("of n/0 and x"),
            std::string::npos);
  EXPECT_NE(said([&](Node* n) { n->links = {{a, b, 1}, {b, a, 2}}; }).find("twice"), -1ul);
  EXPECT_NE(said([&](Node* n) { n->links = {{a, b, 0}}; }).find("accepted: 1 to"), -1ul);
  EXPECT_NE(said([&](Node* n) { n->nics = {{NicName("m"), {1}}}; }).find("2 devices"), -1ul);
  EXPECT_NE(said([&](Node* n) { n->nics = {{NicName(), {1, 2}}}; }).find("without a name"), -1ul);
  EXPECT_NE(said([&](Node* n) {
              n->nics = {{NicName("m"), {1, 2}}, {NicName("m"), {1, 2}}};
            }).find("twi"),
            std::string::npos);
}

}  // namespace
}  // namespace divvy::engine
