// Refusals that no release of devices ends.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/engine.h"
#include "some.h"

namespace divvy::engine {
namespace {

constexpr unsigned kClusters = 200;
constexpr unsigned kRequests = 25;

std::set<std::string> refusedBy(const Engine& engine, const Request& request) {
  std::set<std::string> nodes;
  const Result<Decision> decision = engine.explain(request);
  EXPECT_TRUE(decision);
  if (!decision) return nodes;
  for (const NodeRefusal& one : decision->refusals) nodes.insert(one.node.text);
  return nodes;
}

TEST(PermanentRefusal, RandomClusters_RefusedWithoutTenantsToo) {
  Rng rng(2911);
  unsigned permanent = 0, temporary = 0, freed = 0;
  for (unsigned cluster = 0; cluster < kClusters; ++cluster) {
    some::Wild wild{rng, true, true, true};
    Engine used({kPolicies[cluster % kPolicies.size()], cluster});
    Engine empty({kPolicies[cluster % kPolicies.size()], cluster});
    for (int i = 0; i < 4; ++i) {
      const Node node = wild.node("n" + std::to_string(i));
      ASSERT_TRUE(used.setNode(node));
      ASSERT_TRUE(empty.setNode(node));
    }
    for (unsigned i = 0; i < kRequests; ++i) {
      const Request request = wild.request("r" + std::to_string(i));
      const Result<Decision> decision = used.explain(request);
      ASSERT_TRUE(decision);
      const std::set<std::string> without_tenants = refusedBy(empty, request);
      for (const NodeRefusal& one : decision->refusals) {
        const bool stays = without_tenants.contains(one.node.text);
        if (isPermanent(one)) {
          ASSERT_TRUE(stays) << one.node.text << ": " << text(one);
        }
        ++(isPermanent(one) ? permanent : temporary);
        freed += stays ? 0 : 1;
      }
      static_cast<void>(used.place(request, Instant{1}));
    }
  }
  // All have to happen, or nothing was tested.
  EXPECT_GT(permanent, kClusters);
  EXPECT_GT(temporary, kClusters);
  EXPECT_GT(freed, kClusters);
}

TEST(PermanentRefusal, BusyDevice_PermanentOnceTooFewCouldFit) {
  NodeRefusal node;
  node.why = NodeWhy::kDevices;
  node.needed = 2;
  node.available = 1;
  node.devices = {{DeviceUuid("a"), DeviceWhy::kMemory}, {DeviceUuid("b"), DeviceWhy::kTooLarge}};
  EXPECT_FALSE(isPermanent(node));
  node.needed = 3;
  EXPECT_TRUE(isPermanent(node));
  node.why = NodeWhy::kCordoned;
  EXPECT_FALSE(isPermanent(node));
}

}  // namespace
}  // namespace divvy::engine
