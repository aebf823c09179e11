// What one request may cost: tries are counted over all nodes and all sets of victims.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fit/search_budget.h"
#include "some.h"

namespace divvy::engine {
namespace {

constexpr std::uint32_t kContainers = 24;
// A search that began is not cut off.
constexpr std::uint64_t kMax = kTriesOfDecision + kTriesOfNode + kContainers;

DeviceRequest share(std::uint64_t mebibytes) {
  DeviceRequest ask;
  ask.count = 1;
  ask.compute = {1};
  ask.memory = mib(mebibytes);
  return ask;
}

Request shares(const std::string& id, const std::vector<std::uint64_t>& sizes) {
  Request request;
  request.id = RequestId(id);
  for (const std::uint64_t size : sizes) {
    request.shape.containers.emplace_back();
    request.shape.containers.back().devices = share(size);
  }
  return request;
}

// 24 shares, three for each of eight devices, each just above a third: the sums fit, no way does.
Request nearlyFits(const std::string& id) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < kContainers; ++i) sizes.push_back(26'000 + (i * 37) % 1'000);
  return shares(id, sizes);
}

// Enough for all shares together; not for three of most of them on one device.
Node eight(const std::string& name, std::uint64_t more) {
  Node node = some::node(name, 8);
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    node.devices[i].memory = mib(79'000 + more + i * 131);
    node.devices[i].slots = 10;
  }
  return node;
}

std::size_t count(const Decision& decision, NodeWhy why) {
  return static_cast<std::size_t>(
      std::count_if(decision.refusals.begin(), decision.refusals.end(),
                    [&](const NodeRefusal& one) { return one.why == why; }));
}

TEST(SearchBudget, HostileRequestOnManyNodes_WithinBudget) {
  Engine engine{Config{}};
  for (unsigned i = 0; i < 100; ++i) ASSERT_TRUE(engine.setNode(eight("n" + std::to_string(i), i)));
  const Request hostile = nearlyFits("hostile");
  std::set<std::size_t> put_off;
  for (unsigned asked = 0; asked < 100; ++asked) {
    const std::uint64_t before = engine.tries();
    const Result<Decision> decision = engine.explain(hostile);
    ASSERT_TRUE(decision);
    EXPECT_LE(engine.tries() - before, kMax);
    EXPECT_FALSE(decision->fits());
    EXPECT_EQ(decision->refusals.size(), 100u) << "each node has a reason";
    const std::size_t left = count(*decision, NodeWhy::kNotSearched);
    EXPECT_TRUE(put_off.empty() || left < *put_off.begin() || left == 0) << "it goes on";
    put_off.insert(left);
    EXPECT_EQ(count(*decision, NodeWhy::kUnresolved), 100 - left);
  }
  EXPECT_GT(*put_off.rbegin(), 0u) << "the budget was spent, else this tests nothing";
  EXPECT_EQ(*put_off.begin(), 0u) << "all nodes are searched in the end";
  const std::uint64_t before = engine.tries();
  ASSERT_TRUE(engine.explain(hostile));
  EXPECT_EQ(engine.tries(), before) << "what was found is kept";
}

TEST(SearchBudget, PutOffNodes_BriefsSaySoAndAreNotKept) {
  Engine engine{Config{}};
  std::vector<std::string> names;
  for (unsigned i = 0; i < 60; ++i) names.push_back("n" + std::to_string(i));
  for (unsigned i = 0; i < 60; ++i) ASSERT_TRUE(engine.setNode(eight(names[i], i)));
  const std::vector<std::string_view> all(names.begin(), names.end());
  const Request hostile = nearlyFits("hostile");
  std::set<NodeWhy> last;
  for (unsigned asked = 0; asked < 60; ++asked) {
    const std::uint64_t before = engine.tries();
    const Result<CompactRefusals> briefs = engine.compactRefusals(hostile, all);
    ASSERT_TRUE(briefs);
    EXPECT_LE(engine.tries() - before, kMax);
    last.clear();
    for (const std::uint32_t at : briefs->of) {
      ASSERT_NE(at, CompactRefusals::kNone);
      last.insert(briefs->different[at].why);
    }
    const bool first = asked == 0;
    EXPECT_TRUE(!first || last.contains(NodeWhy::kNotSearched));
  }
  EXPECT_EQ(last, std::set<NodeWhy>{NodeWhy::kUnresolved});
}

TEST(SearchBudget, EqualNodes_SearchedOnce) {
  Engine engine{Config{}};
  for (unsigned i = 0; i < 1000; ++i)
    ASSERT_TRUE(engine.setNode(eight("n" + std::to_string(i), 0)));
  const Result<Decision> decision = engine.explain(nearlyFits("hostile"));
  ASSERT_TRUE(decision);
  EXPECT_EQ(count(*decision, NodeWhy::kUnresolved), 1000u);
  EXPECT_LE(engine.tries(), kTriesOfNode + kContainers);
}

TEST(SearchBudget, SumAboveNode_RefusedWithoutSearch) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(eight("n", 0)));
  const Result<Decision> decision =
      engine.explain(shares("r", std::vector<std::uint64_t>(kContainers, 27'000)));
  ASSERT_TRUE(decision);
  EXPECT_EQ(count(*decision, NodeWhy::kTogether), 1u);
  EXPECT_LE(engine.tries(), 2u);
}

// Small shares come first in the pod: on the fullest devices they leave no room for large ones.
TEST(SearchBudget, SmallSharesFirst_FoundLargestFirst) {
  Engine engine{Config{}};
  Node node = some::node("n", 8);
  for (Device& device : node.devices) device.memory = mib(100'000), device.slots = 10;
  ASSERT_TRUE(engine.setNode(node));
  std::vector<std::uint64_t> sizes;
  for (unsigned i = 0; i < 8; ++i) sizes.push_back(30'000 + i * 1'000);
  for (unsigned i = 0; i < 8; ++i) sizes.push_back(69'000 - i * 1'000);
  const Result<Allocation> given = engine.place(shares("r", sizes), Instant{1});
  ASSERT_TRUE(given) << given.error().message();
  std::map<DeviceUuid, std::uint64_t> taken;
  for (const Charge& charge : given->placement.charges) taken[charge.uuid] += charge.memory.count;
  for (const auto& [uuid, bytes] : taken) EXPECT_LE(bytes, mib(100'000).count) << uuid.text;
  EXPECT_LE(engine.tries(), 2 * kMax);
}

TEST(SearchBudget, RequestAfterHostileOne_PlacedAtOnce) {
  Engine engine{Config{}};
  for (unsigned i = 0; i < 100; ++i) ASSERT_TRUE(engine.setNode(eight("n" + std::to_string(i), i)));
  ASSERT_TRUE(engine.decide(nearlyFits("hostile")));
  ASSERT_TRUE(engine.place(some::request("one", 1, 10, mib(1'000)), Instant{1}));
  ASSERT_TRUE(engine.place(shares("two", {1'000, 2'000}), Instant{1}));
}

TEST(SearchBudget, VictimsOfHostileRequest_WithinBudget) {
  Engine engine{Config{}};
  ASSERT_TRUE(engine.setNode(eight("n", 0)));
  EvictionCosts costs;
  for (unsigned i = 0; i < 40; ++i) {
    const std::string id = "t" + std::to_string(i);
    ASSERT_TRUE(engine.place(shares(id, {10'000 + i * 97}), Instant{1}));
    costs.of[RequestId(id)] = {static_cast<std::int64_t>(i % 7), 1, "", ""};
  }
  const std::uint64_t before = engine.tries();
  const auto found = engine.preempt(nearlyFits("hostile"), 100, costs);
  ASSERT_TRUE(found);
  EXPECT_LE(engine.tries() - before, kTriesOfGang + kTriesOfNode + kContainers);
}

}  // namespace
}  // namespace divvy::engine
