// The engine against trying everything, on small clusters made by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "briefs.h"
#include "brute.h"
#include "some.h"

namespace divvy::engine {
namespace {

constexpr unsigned kClusters = 400;
constexpr unsigned kRequests = 25;

struct Pair {
  Engine engine;
  brute::World world;
  std::map<std::string, Placement> booked;

  void add(const Node& node) {
    ASSERT_TRUE(engine.setNode(node));
    world.add(node);
  }
  void place(const Request& request) {
    const Result<Allocation> given = engine.place(request, Instant{1});
    if (!given) return;
    world.book(given->placement, 1);
    booked[request.id.text] = given->placement;
  }
  void releaseOne(Rng& rng) {
    if (booked.empty()) return;
    const auto at = std::next(booked.begin(), static_cast<long>(rng.below(booked.size())));
    ASSERT_TRUE(engine.release(RequestId(at->first)));
    world.book(at->second, -1);
    booked.erase(at);
  }
};

std::string said(const NodeRefusal& r) {
  std::string text = r.node.text + ": " + engine::text(r) + " (" +
                     std::to_string(static_cast<int>(r.why)) + ", " + std::to_string(r.needed) +
                     " of " + std::to_string(r.available) + ")";
  for (const DeviceRefusal& device : r.devices) {
    text += "; " + device.uuid.text + ": " + engine::text(device);
  }
  return text;
}

// Every node either takes it or is refused with the reason that trying finds.
void compareRefusals(const Pair& pair, const Request& request, const Decision& decision) {
  bool fits = false;
  std::map<std::string, NodeRefusal> refusals;
  for (const NodeRefusal& one : decision.refusals) refusals[one.node.text] = one;
  for (const auto& [name, machine] : pair.world.machines()) {
    std::optional<NodeRefusal> expected = pair.world.refusal(machine, request.shape);
    const auto actual = refusals.find(name);
    fits = fits || !expected;
    ASSERT_EQ(expected.has_value(), actual != refusals.end())
        << name << (expected ? said(*expected) : said(actual->second));
    if (!expected) continue;
    expected->node = NodeName(name);
    // Of several containers that need the most devices any may be named.
    if (expected->why == NodeWhy::kTooFew) expected->container = actual->second.container;
    ASSERT_EQ(*expected, actual->second) << said(*expected) << "\n" << said(actual->second);
  }
  ASSERT_EQ(decision.fits(), fits);
}

// Those are in tests/engine/nodes/partitioning_test.cpp, pool_test.cpp and whole_test.cpp.
bool elsewhere(DeviceWhy why) {
  return why == DeviceWhy::kNotInPool || why == DeviceWhy::kPreviousPoolTenants ||
         why == DeviceWhy::kNoPart || why == DeviceWhy::kSplit || why == DeviceWhy::kCpus ||
         why == DeviceWhy::kNoPlacement || why == DeviceWhy::kExclusiveOnly;
}

void expectAgreement(bool topology) {
  Rng rng(topology ? 8 : 7);
  unsigned placed = 0;
  unsigned refused = 0;
  std::set<DeviceWhy> reasons;
  for (unsigned cluster = 0; cluster < kClusters; ++cluster) {
    some::Wild wild{rng, true, topology, true};
    Pair pair{Engine({kPolicies[cluster % kPolicies.size()], cluster}), {}, {}};
    ASSERT_TRUE(pair.engine.setTarget(some::target()));
    for (int i = 0; i < 4; ++i) pair.add(wild.node("n" + std::to_string(i)));
    for (unsigned i = 0; i < kRequests; ++i) {
      const Request request = wild.request("r" + std::to_string(i));
      const Result<Decision> decision = pair.engine.explain(request);
      ASSERT_TRUE(decision) << decision.error().message();
      ASSERT_NO_FATAL_FAILURE(compareRefusals(pair, request, *decision)) << cluster << "/" << i;
      ASSERT_NO_FATAL_FAILURE(expectBriefs(pair.engine, request, *decision)) << cluster;
      if (decision->fits()) {
        ASSERT_EQ(pair.world.faultOf(*decision->placement, request.shape), "") << cluster;
      }
      ++(decision->fits() ? placed : refused);
      for (const NodeRefusal& node : decision->refusals)
        for (const DeviceRefusal& device : node.devices) reasons.insert(device.why);
      pair.place(request);
      ASSERT_EQ(pair.world.overCapacity(), "");
      if (rng.below(4) != 0) continue;
      ASSERT_NO_FATAL_FAILURE(pair.releaseOne(rng));
    }
  }
  // Both have to happen, or nothing was tested.
  EXPECT_GT(placed, kClusters * kRequests / (topology ? 8 : 5));
  EXPECT_GT(refused, kClusters * kRequests / 5);
  for (auto why = DeviceWhy::kKind; why <= DeviceWhy::kHeld;
       why = static_cast<DeviceWhy>(static_cast<int>(why) + 1)) {
    EXPECT_TRUE(reasons.count(why) > 0 || elsewhere(why))
        << text(DeviceRefusal{DeviceUuid("x"), why, 0, 0});
  }
}

TEST(EngineBruteForce, RandomClusters_SameDecisionsAndRefusals) {
  expectAgreement(false);
}

TEST(EngineBruteForce, DevicesTogether_SameDecisionsAndRefusals) {
  expectAgreement(true);
}

// The chosen node is one of the best by the published definition, and of equals the first.
template <typename Score>
void expectBest(Policy policy, std::uint64_t seed, const Score& score) {
  Rng rng(seed);
  unsigned compared = 0;
  for (unsigned cluster = 0; cluster < kClusters; ++cluster) {
    some::Wild wild{rng, false};
    Pair pair{Engine({policy, cluster}), {}, {}};
    ASSERT_TRUE(pair.engine.setTarget(some::target()));
    for (int i = 0; i < 5; ++i) pair.add(wild.node("n" + std::to_string(i)));
    for (unsigned i = 0; i < kRequests; ++i) {
      const Request request = wild.request("r" + std::to_string(i));
      const DeviceRequest& ask = request.shape.containers.front().devices;
      const Result<Decision> decision = pair.engine.decide(request);
      ASSERT_TRUE(decision);
      // Parts of several devices were never asked for where the definition comes from.
      const bool defined = ask.count <= 1 || ask.compute == kWholeDevice;
      if (decision->fits() && defined && !(ask.count == 1 && ask.compute.milli == 0)) {
        double best = -1;
        std::string first;
        for (const NodeName& name : pair.engine.nodes()) {
          const brute::Machine& machine = pair.world.machines().at(name.text);
          if (pair.world.refusal(machine, request.shape)) continue;
          const double value = std::floor(score(machine, request.shape) + 1e-9);
          if (value > best) first = name.text;
          best = std::max(best, value);
        }
        ASSERT_EQ(decision->placement->node.text, first) << cluster << "/" << i;
        ASSERT_EQ(decision->placement->score, static_cast<std::uint32_t>(best));
        ++compared;
      }
      pair.place(request);
    }
  }
  EXPECT_GT(compared, kClusters * kRequests / 5);
}

TEST(EngineBruteForce, FgdPolicy_BestNodeAsPublished) {
  const Target target = some::target();
  expectBest(Policy::kFgd, 11, [&](const brute::Machine& machine, const Shape& shape) {
    return brute::fgdScore(machine, shape, target);
  });
}

TEST(EngineBruteForce, BestFitPolicy_BestNodeAsPublished) {
  expectBest(Policy::kBestFit, 12, [](const brute::Machine& machine, const Shape& shape) {
    return brute::bestFitScore(machine, shape);
  });
}

}  // namespace
}  // namespace divvy::engine
